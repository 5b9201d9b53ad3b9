package measure

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Shape is how requests follow each other.
type Shape string

// Shapes of traffic. They differ in what connections go through between requests.
const (
	Burst  Shape = "burst"  // one round right after the other
	Spaced Shape = "spaced" // a pause before each round
	Rate   Shape = "rate"   // rounds begin at fixed times, whether or not earlier ones have ended
)

// Defaults and limits of [Config].
const (
	DefaultRounds       = 100
	DefaultSpacedRounds = 10
	DefaultGap          = 11 * time.Second // node-postgres closes connections that were idle for 10 s
	DefaultRPS          = 10
	DefaultRateLanes    = 8
	DefaultTimeout      = 15 * time.Second // more than the probes' own, so that they say what failed
	DefaultWarmUp       = 3
	DefaultSpacedWarmUp = 1

	MaxModes   = 12
	maxSamples = 500_000 // all of them are kept in memory
	maxLanes   = 100
	maxGap     = 24 * time.Hour
	maxRPS     = 10_000
)

// Config says what to measure and how.
type Config struct {
	// Targets are the probes to compare. Each gets one request in every round. Required.
	Targets []Target
	// Shape is how rounds follow each other. Defaults to Burst.
	Shape Shape
	// Rounds is how many are measured. Defaults to DefaultRounds, and to DefaultSpacedRounds for Spaced.
	Rounds int
	// WarmUp is how many times rounds are run before, Concurrency at a time. They are marked and not counted.
	// Defaults to DefaultWarmUp, and to DefaultSpacedWarmUp for Spaced; -1 means none.
	WarmUp int
	// Gap is the pause before each round of Spaced, from the last answer on. Defaults to DefaultGap.
	Gap time.Duration
	// RPS is how many rounds begin in a second, for Rate. Defaults to DefaultRPS.
	RPS float64
	// Concurrency is how many rounds may run at once. With Spaced that many begin together after each pause.
	// Defaults to 1, and to DefaultRateLanes for Rate.
	Concurrency int
	// OneByOne asks for the next mode of a round when the one before has answered. Defaults to false: they are asked
	// at the same time, in random order.
	OneByOne bool
	// Baseline is the target that the others are compared with. Defaults to the target named rest, else to the
	// first one.
	Baseline string
	// Seed decides the order in each round. Optional: 0 is a seed like any other.
	Seed uint64
	// Timeout bounds each request. Defaults to DefaultTimeout.
	Timeout time.Duration
	// Authorization is sent as the header of that name. Optional.
	Authorization string
	// KeepUnknown makes it an error when there is no such mode. Defaults to false: it is left out, with a notice,
	// as long as there are others.
	KeepUnknown bool
	// Progress gets lines for people while it runs. Defaults to none.
	Progress io.Writer
}

func (cfg *Config) setDefaults() {
	spaced := cfg.Shape == Spaced
	if cfg.Shape == "" {
		cfg.Shape = Burst
	}
	if cfg.Rounds == 0 {
		cfg.Rounds = DefaultRounds
		if spaced {
			cfg.Rounds = DefaultSpacedRounds
		}
	}
	switch {
	case cfg.WarmUp == -1:
		cfg.WarmUp = 0
	case cfg.WarmUp == 0 && spaced:
		cfg.WarmUp = DefaultSpacedWarmUp
	case cfg.WarmUp == 0:
		cfg.WarmUp = DefaultWarmUp
	}
	if cfg.Gap == 0 {
		cfg.Gap = DefaultGap
	}
	if cfg.RPS == 0 {
		cfg.RPS = DefaultRPS
	}
	if cfg.Concurrency == 0 {
		cfg.Concurrency = 1
		if cfg.Shape == Rate {
			cfg.Concurrency = DefaultRateLanes
		}
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Progress == nil {
		cfg.Progress = io.Discard
	}
	cfg.setBaseline()
}

func (cfg *Config) setBaseline() {
	if cfg.Baseline != "" || len(cfg.Targets) == 0 {
		return
	}
	cfg.Baseline = cfg.Targets[0].Name
	if cfg.has(modeREST) {
		cfg.Baseline = modeREST
	}
}

// Validate says all that is wrong with the config, by the names of the flags.
func (cfg Config) Validate() error {
	cfg.setDefaults()
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch cfg.Shape {
	case Burst, Spaced, Rate:
	default:
		add("--shape must be burst, spaced, rate or both")
	}
	if n := len(cfg.Targets); n < 1 || n > MaxModes {
		add("there are %d modes: give between 1 and %d", n, MaxModes)
	}
	if cfg.Rounds < 1 {
		add("--rounds must be at least 1")
	}
	if cfg.WarmUp < 0 {
		add("--warmup must not be negative")
	}
	if cfg.Concurrency < 1 || cfg.Concurrency > maxLanes {
		add("--concurrency must be between 1 and %d", maxLanes)
	} else if cfg.Rounds > 0 && cfg.WarmUp >= 0 && len(cfg.Targets) > 0 &&
		(cfg.Rounds > maxSamples || cfg.WarmUp > maxSamples || (cfg.Rounds+cfg.WarmUp*cfg.Concurrency)*len(cfg.Targets) > maxSamples) {
		add("rounds × modes must be at most %d, the warm-up included: all samples are kept in memory", maxSamples)
	}
	if cfg.Gap < 0 || cfg.Gap > maxGap {
		add("--gap must be between 0 and %s", maxGap)
	}
	if !(cfg.RPS > 0 && cfg.RPS <= maxRPS) {
		add("--rps must be above 0 and at most %d", maxRPS)
	}
	if cfg.Timeout < 0 {
		add("--timeout must be positive")
	}
	if len(cfg.Targets) > 0 && !cfg.has(cfg.Baseline) {
		add("--baseline must be one of the modes")
	}
	errs = append(errs, checkTargets(cfg.Targets, cfg.Authorization != ""))
	return errors.Join(errs...)
}

func (cfg *Config) has(name string) bool {
	for _, t := range cfg.Targets {
		if t.Name == name {
			return true
		}
	}
	return false
}
