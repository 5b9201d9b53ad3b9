package tracing

import "time"

// DefaultSlow is the duration from which a call gets a span for each phase.
const DefaultSlow = 100 * time.Millisecond

// Option changes what an [Observer] makes of a call.
type Option interface{ apply(*Observer) }

type optionFunc func(*Observer)

func (f optionFunc) apply(o *Observer) { f(o) }

// Always gives every call a span for each phase. It suits development; in
// production it multiplies the number of spans, and Sentry's views of self time
// then show what is left of a call beside its phases: nothing.
func Always() Option { return optionFunc(func(o *Observer) { o.detail = always }) }

// Slow gives calls that took at least d a span for each phase, and calls that
// had to make a connection as well. d below zero leaves only the latter. Without
// an option it is Slow(DefaultSlow).
func Slow(d time.Duration) Option {
	return optionFunc(func(o *Observer) { o.detail, o.slow = slowOrCold, d })
}

// Off gives no call spans for its phases. The attributes stay.
func Off() Option { return optionFunc(func(o *Observer) { o.detail = off }) }

type detail uint8

const (
	slowOrCold detail = iota
	always
	off
)
