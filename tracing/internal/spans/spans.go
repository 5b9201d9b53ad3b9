// Package spans puts finished spans under Sentry transactions. It is the one
// place that knows how sentry-go wants that done, for the observer of calls and
// for the pgx tracer alike.
//
// A span is made when what it describes is over, with its times set back. So
// nothing has to be undone when the request turns out not to be sampled, no
// span is left open by a result that is never closed, and no span of this
// module is being written to while its transaction is on its way out.
package spans

import (
	"context"
	"time"

	"github.com/getsentry/sentry-go"
)

// Span is something that is over.
type Span struct {
	Op, Description string
	Origin          sentry.SpanOrigin
	Status          sentry.SpanStatus
	Start, End      time.Time
	Data            map[string]any // handed over: not to be used afterwards
	Children        []Span
}

// descendants counts the spans under s.
func (s *Span) descendants() int {
	n := len(s.Children)
	for i := range s.Children {
		n += s.Children[i].descendants()
	}
	return n
}

// Recording says whether Record would do anything, so that a caller need not
// collect what nobody wants. It allocates nothing.
func Recording(ctx context.Context) bool {
	if t := from(ctx); t != nil {
		return t.sampled
	}
	s := sentry.SpanFromContext(ctx)
	return s != nil && s.Sampled == sentry.SampledTrue
}

// Record puts the span under the one that ctx carries. Without one, or when it
// isn't sampled, or when its transaction has ended, it does nothing.
func Record(ctx context.Context, s Span) {
	parent := sentry.SpanFromContext(ctx)
	if parent == nil {
		return
	}
	t := from(ctx)
	if t == nil {
		if parent.Sampled == sentry.SampledTrue {
			record(ctx, &s)
		}
		return
	}
	if !t.sampled {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	switch n := s.descendants(); t.take(n) {
	case roomForNone:
		t.dropped++
		t.droppedFor += s.End.Sub(s.Start)
		return
	case roomForOne:
		s.Children = nil
	}
	record(t.quiet(ctx, parent), &s)
}

func record(ctx context.Context, s *Span) {
	span := start(ctx, s)
	if len(s.Children) > 0 {
		under := span.Context()
		for i := range s.Children {
			record(under, &s.Children[i])
		}
	}
	span.Finish()
}

// start sets every field before the SDK gets to share the span, which it does
// as soon as the options have run.
func start(ctx context.Context, s *Span) *sentry.Span {
	return sentry.StartSpan(ctx, s.Op, func(span *sentry.Span) {
		span.Description = s.Description
		span.Origin = s.Origin
		span.Status = s.Status
		span.StartTime = s.Start
		span.EndTime = s.End
		span.Data = s.Data
	})
}
