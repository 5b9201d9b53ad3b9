package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/twinpath/twinpath/example-app/internal/site"
)

const (
	defaultAddr = "127.0.0.1:8080"
	defaultPath = "percent:50"

	maxRTT = 5 * time.Second // more than any network has, and less than what makes every call time out
)

// serveFlags are the flags of serve.
type serveFlags struct {
	addr      string
	addrGiven bool // then a busy port is an error
	path      site.Setting
	rtt       time.Duration
	naiveIdle time.Duration // idle limit of the pool for comparison
}

// parseServe reads the flags of serve. Its errors are usage errors, or flag.ErrHelp.
func parseServe(args []string) (serveFlags, error) {
	f := serveFlags{}
	set := flag.NewFlagSet("serve", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&f.addr, "addr", defaultAddr, "")
	path := set.String("access-path", defaultPath, "")
	set.DurationVar(&f.rtt, "rtt", 0, "")
	set.DurationVar(&f.naiveIdle, "naive-idle", naiveIdleLimit, "")
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return f, err
		}
		return f, usageError{err}
	}
	if set.NArg() > 0 {
		return f, usageError{fmt.Errorf("serve takes flags only, and there is %q", set.Arg(0))}
	}
	set.Visit(func(fl *flag.Flag) { f.addrGiven = f.addrGiven || fl.Name == "addr" })
	if err := checkAddr(f.addr); err != nil {
		return f, usageError{err}
	}
	var err error
	if f.path, err = site.ParseSetting(*path); err != nil {
		return f, usageError{fmt.Errorf("--access-path %w", err)}
	}
	if f.rtt < 0 || f.rtt > maxRTT {
		return f, usageError{fmt.Errorf("--rtt must be between 0 and %s", maxRTT)}
	}
	if f.naiveIdle < minNaiveIdle || f.naiveIdle > maxNaiveIdle {
		return f, usageError{fmt.Errorf("--naive-idle must be between %s and %s", minNaiveIdle, maxNaiveIdle)}
	}
	return f, nil
}

// checkAddr refuses what can be no address on any machine.
func checkAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--addr %s is no host:port, such as %s", addr, defaultAddr)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("--addr %s has no port between 0 and 65535", addr)
	}
	if strings.ContainsAny(host, " /@\t") {
		return fmt.Errorf("--addr %s has no host that can be, such as %s", addr, defaultAddr)
	}
	return nil
}
