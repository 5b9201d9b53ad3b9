package tracing

import "time"

// DefaultSlow is the duration from which a call gets a span for each phase.
const DefaultSlow = 100 * time.Millisecond

// Option changes what an [Observer], or a transport, makes of a call.
type Option interface {
	TransportOption
	apply(*Observer)
}

// Always gives every call a span for each phase. It suits development; in
// production it multiplies the number of spans, and Sentry's views of self time
// then show what is left of a call beside its phases: nothing.
func Always() Option { return detailOption{detail: always} }

// Slow gives calls that took at least d a span for each phase, and calls that
// had to make a connection as well. d below zero leaves only the latter. Without
// an option it is Slow(DefaultSlow).
func Slow(d time.Duration) Option { return detailOption{slowOrCold, d} }

// Off gives no call spans for its phases. The attributes stay.
func Off() Option { return detailOption{detail: off} }

// detailOption says which calls get spans for their phases.
type detailOption struct {
	detail detail
	slow   time.Duration
}

func (d detailOption) apply(o *Observer)    { o.detail = d }
func (d detailOption) applyTo(t *transport) { t.detail = d }

func (d detailOption) wants(connected bool, took time.Duration) bool {
	switch d.detail {
	case always:
		return true
	case off:
		return false
	}
	return connected || d.slow >= 0 && took >= d.slow
}

type detail uint8

const (
	slowOrCold detail = iota
	always
	off
)
