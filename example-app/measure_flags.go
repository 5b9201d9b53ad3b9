package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/twinpath/twinpath/example-app/internal/measure"
)

const (
	minNaiveIdle = 100 * time.Millisecond
	maxNaiveIdle = time.Hour
)

// measureFlags are the flags of measure.
type measureFlags struct {
	cfg       measure.Config
	both      bool // burst and then spaced
	demo      bool // there is nothing to measure yet
	modes     []string
	rtt       time.Duration
	naiveIdle time.Duration
	json      bool
	csv, svg  string
}

// parseMeasure reads the flags of measure. Its errors are usage errors, or flag.ErrHelp.
func parseMeasure(args []string, authorization string) (*measureFlags, error) {
	f := &measureFlags{cfg: measure.Config{Authorization: authorization}}
	set := flag.NewFlagSet("measure", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	base := set.String("url", "", "")
	modes := set.String("modes", defaultModes, "")
	shape := set.String("shape", string(measure.Burst), "")
	set.IntVar(&f.cfg.Rounds, "rounds", 0, "")
	set.DurationVar(&f.cfg.Gap, "gap", 0, "")
	set.Float64Var(&f.cfg.RPS, "rps", 0, "")
	set.IntVar(&f.cfg.Concurrency, "concurrency", 0, "")
	set.IntVar(&f.cfg.WarmUp, "warmup", 0, "")
	set.BoolVar(&f.cfg.OneByOne, "one-by-one", false, "")
	set.StringVar(&f.cfg.Baseline, "baseline", "", "")
	set.Uint64Var(&f.cfg.Seed, "seed", uint64(rand.Uint32()), "")
	set.DurationVar(&f.cfg.Timeout, "timeout", 0, "")
	set.BoolVar(&f.json, "json", false, "")
	set.StringVar(&f.csv, "csv", "", "")
	set.StringVar(&f.svg, "svg", "", "")
	set.DurationVar(&f.rtt, "rtt", 0, "")
	set.DurationVar(&f.naiveIdle, "naive-idle", naiveIdleLimit, "")
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, usageError{err}
	}
	given := map[string]bool{}
	set.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	f.demo = !given["url"] && set.NArg() == 0
	f.both = *shape == "both"
	f.cfg.Shape = measure.Shape(*shape)
	f.modes = strings.Split(*modes, ",")
	f.cfg.KeepUnknown = given["modes"] || set.NArg() > 0
	err := errors.Join(f.conflicts(given, set.Args()), f.atLeastOne(given), f.targets(*base, set.Args()))
	if err != nil {
		return nil, usageError{err}
	}
	if given["warmup"] && f.cfg.WarmUp == 0 {
		f.cfg.WarmUp = -1
	}
	for _, cfg := range f.configs() {
		if err := cfg.Validate(); err != nil {
			return nil, usageError{err}
		}
	}
	return f, nil
}

// conflicts finds flags that mean nothing together.
func (f *measureFlags) conflicts(given map[string]bool, args []string) error {
	var errs []error
	add := func(when bool, format string, a ...any) {
		if when {
			errs = append(errs, fmt.Errorf(format, a...))
		}
	}
	for _, a := range args {
		add(strings.HasPrefix(a, "-"), "flags come before addresses: move %s", strings.SplitN(a, "=", 2)[0])
	}
	add(given["url"] && len(args) > 0, "give either --url or addresses of probes")
	add(given["modes"] && len(args) > 0, "--modes goes with --url: addresses of probes name their modes themselves")
	add(given["gap"] && f.cfg.Shape != measure.Spaced && !f.both, "--gap is for --shape spaced and --shape both")
	add(given["rps"] && f.cfg.Shape != measure.Rate, "--rps is for --shape rate")
	for _, name := range []string{"rtt", "naive-idle"} {
		add(given[name] && !f.demo, "--%s is for the demo that measure starts: give it to serve", name)
	}
	add(f.cfg.WarmUp < 0, "--warmup must not be negative")
	add(f.rtt < 0 || f.rtt > maxRTT, "--rtt must be between 0 and %s", maxRTT)
	add(f.naiveIdle < minNaiveIdle || f.naiveIdle > maxNaiveIdle, "--naive-idle must be between %s and %s", minNaiveIdle, maxNaiveIdle)
	return errors.Join(errs...)
}

// atLeastOne refuses zeros that would otherwise mean the default.
func (f *measureFlags) atLeastOne(given map[string]bool) error {
	var errs []error
	for name, zero := range map[string]bool{
		"rounds": f.cfg.Rounds == 0, "gap": f.cfg.Gap == 0, "rps": f.cfg.RPS == 0, "concurrency": f.cfg.Concurrency == 0, "timeout": f.cfg.Timeout == 0,
	} {
		if given[name] && zero {
			errs = append(errs, fmt.Errorf("--%s must be above 0", name))
		}
	}
	return errors.Join(errs...)
}

func (f *measureFlags) targets(base string, args []string) (err error) {
	switch {
	case len(args) > 0:
		f.cfg.Targets, err = measure.ParseTargets(args)
	case f.demo:
		f.cfg.Targets, err = measure.TargetsBelow("http://127.0.0.1:1", f.modes) // until the demo has a port
	default:
		f.cfg.Targets, err = measure.TargetsBelow(base, f.modes)
	}
	return err
}

// configs are the measurements to make, one after the other.
func (f *measureFlags) configs() []measure.Config {
	if !f.both {
		return []measure.Config{f.cfg}
	}
	burst, spaced := f.cfg, f.cfg
	burst.Shape, burst.Gap, spaced.Shape = measure.Burst, 0, measure.Spaced
	return []measure.Config{burst, spaced}
}
