package corpus

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// caseTimeout bounds one case on one way.
const caseTimeout = 20 * time.Second

// Report says which cases passed on which way.
type Report struct {
	Ways    []string
	Cases   []string
	groups  map[string]string            // by case
	reasons map[string]map[string]string // by way and case, "" for a pass
}

// Run runs every case every way, one after the other.
func Run(ctx context.Context, corpus *Corpus, ways ...Way) *Report {
	r := &Report{groups: map[string]string{}, reasons: map[string]map[string]string{}}
	for i := range corpus.Cases {
		c := &corpus.Cases[i]
		r.Cases = append(r.Cases, c.ID)
		r.groups[c.ID] = c.Group()
	}
	for _, w := range ways {
		r.Ways = append(r.Ways, w.Name())
		reasons := map[string]string{}
		for i := range corpus.Cases {
			c := &corpus.Cases[i]
			reasons[c.ID] = runCase(ctx, w, c)
		}
		r.reasons[w.Name()] = reasons
	}
	return r
}

func runCase(ctx context.Context, w Way, c *Case) string {
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	a, err := w.Run(ctx, c)
	switch {
	case err != nil && IsUnsupported(err):
		return "unsupported: " + err.Error()
	case err != nil:
		return "no answer: " + err.Error()
	}
	return Compare(c, a)
}

// Passed are the cases that passed on a way, in the corpus's order.
func (r *Report) Passed(way string) []string {
	var ids []string
	for _, id := range r.Cases {
		if reason, ok := r.reasons[way][id]; ok && reason == "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// Reason says why a case failed on a way, "" when it passed.
func (r *Report) Reason(way, id string) string {
	if reason, ok := r.reasons[way][id]; ok {
		return reason
	}
	return "there is no such case, or it was not run"
}

// Write prints a line for each way, and where details are wanted the groups and
// the failures.
func (r *Report) Write(w io.Writer, details bool) error {
	var b strings.Builder
	for _, way := range r.Ways {
		fmt.Fprintf(&b, "golden %s %d/%d\n", way, len(r.Passed(way)), len(r.Cases))
		if details {
			r.details(&b, way)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) details(b *strings.Builder, way string) {
	var groups []string
	for _, id := range r.Cases {
		if g := r.groups[id]; !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	for _, g := range groups {
		passed, all := 0, 0
		for _, id := range r.Cases {
			if r.groups[id] != g {
				continue
			}
			all++
			if r.reasons[way][id] == "" {
				passed++
			}
		}
		fmt.Fprintf(b, "  %-8s %d/%d\n", g, passed, all)
	}
	for _, id := range r.Cases {
		if reason := r.reasons[way][id]; reason != "" {
			fmt.Fprintf(b, "  %s: %s\n", id, reason)
		}
	}
}
