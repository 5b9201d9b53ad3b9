package measure

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/latency"
)

const (
	modeREST   = latency.ModeREST
	modeDirect = latency.ModeDirect

	probePrefix = "/api/debug" // where the demo has its probes
	maxName     = 40
)

// Target is a probe to measure.
type Target struct {
	Name string // the mode: letters, digits, hyphens, dots, colons
	URL  string
}

// where names the probe for an error: its address says where a wrong prefix led to. A query is left out.
func (t Target) where() string {
	u, err := url.Parse(t.URL)
	if err != nil {
		return t.Name
	}
	return t.Name + " (" + u.Host + u.EscapedPath() + ")"
}

// TargetsBelow returns the probes of modes of an app: at base + /latency/{mode}, where base defaults to
// /api/debug for an address without a path.
func TargetsBelow(base string, modes []string) ([]Target, error) {
	u, err := parseURL(base)
	if err != nil {
		return nil, fmt.Errorf("--url: %w", err)
	}
	if u.RawQuery != "" {
		return nil, errors.New("--url takes the address that /latency/{mode} is below, without a query")
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = probePrefix
	}
	var list []Target
	for _, m := range modes {
		list = append(list, Target{Name: m, URL: u.JoinPath("latency", m).String()})
	}
	return list, nil
}

// ParseTargets reads addresses of probes, each with a name and an equals sign before it or without. An
// address without one is called by its last element, and by its host, too, if that would name two of them.
func ParseTargets(args []string) ([]Target, error) {
	var list []Target
	hosts := make([]string, len(args))
	count := map[string]int{}
	for i, arg := range args {
		name, raw, named := strings.Cut(arg, "=")
		if !named || strings.ContainsAny(name, "/?") {
			name, raw = "", arg
		}
		u, err := parseURL(raw)
		if err != nil {
			return nil, fmt.Errorf("address %d: %w", i+1, err)
		}
		if name == "" {
			hosts[i] = u.Host
			name = path.Base(u.Path)
			if name == "." || name == "/" {
				name = u.Host
			}
		}
		count[name]++
		list = append(list, Target{Name: name, URL: u.String()})
	}
	for i := range list {
		if count[list[i].Name] > 1 && hosts[i] != "" {
			list[i].Name = hosts[i] + ":" + list[i].Name
		}
	}
	return list, nil
}

// parseURL reads an address. Its errors don't repeat it, as it may hold a password.
func parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return nil, errors.New("this is no URL: write it as http://127.0.0.1:8080")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the URL must begin with http:// or https://")
	case u.User != nil:
		return nil, errors.New("the URL must not hold a user or a password: see MEASURE_AUTHORIZATION")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func checkTargets(list []Target, secret bool) error {
	var errs []error
	seen := map[string]bool{}
	for _, t := range list {
		if !isName(t.Name) {
			errs = append(errs, fmt.Errorf("%q is no name of a mode: use up to %d letters, digits, hyphens, dots and colons", t.Name, maxName))
			continue
		}
		if seen[t.Name] {
			errs = append(errs, fmt.Errorf("two modes are called %s: name them, as in a=http://… b=http://…", t.Name))
		}
		seen[t.Name] = true
		u, err := parseURL(t.URL)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", t.Name, err))
		} else if secret && u.Scheme == "http" && !isLoopback(u.Hostname()) {
			errs = append(errs, fmt.Errorf("%s: MEASURE_AUTHORIZATION is sent over https only, or to this machine", t.Name))
		}
	}
	return errors.Join(errs...)
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-._:", rune(c)) {
			return false
		}
	}
	return s != "" && len(s) <= maxName
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
