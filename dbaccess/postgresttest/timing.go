package postgresttest

import (
	"fmt"
	"strings"
	"time"
)

// timing measures what PostgREST's Server-Timing tells.
type timing struct {
	at                                      time.Time
	jwt, parse, plan, transaction, response time.Duration
}

func (t *timing) begin() { t.at = time.Now() }

func (t *timing) end(phase *time.Duration) {
	now := time.Now()
	*phase, t.at = now.Sub(t.at), now
}

// header writes the phases in milliseconds, as PostgREST does.
func (t *timing) header() string {
	var b strings.Builder
	for i, p := range [...]struct {
		name string
		took int64
	}{
		{"jwt", t.jwt.Microseconds()}, {"parse", t.parse.Microseconds()}, {"plan", t.plan.Microseconds()},
		{"transaction", t.transaction.Microseconds()}, {"response", t.response.Microseconds()},
	} {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s;dur=%.1f", p.name, float64(p.took)/1000)
	}
	return b.String()
}
