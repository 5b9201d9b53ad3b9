package tracing

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/getsentry/sentry-go"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/tracing/internal/outcome"
	"github.com/twinpath/twinpath/tracing/internal/spans"
)

// Observer makes a span of every call whose context carries a sampled one. It is
// safe for concurrent use.
type Observer struct {
	detail detail
	slow   time.Duration

	lastFlagKey atomic.Pointer[string]
}

var _ dbaccess.Observer = (*Observer)(nil)

// NewObserver makes an Observer. Nil options are ignored.
func NewObserver(opts ...Option) *Observer {
	o := &Observer{slow: DefaultSlow}
	for _, opt := range opts {
		if opt != nil {
			opt.apply(o)
		}
	}
	return o
}

// CallStart does nothing: a span is made when its call is over, see CallEnd.
func (o *Observer) CallStart(ctx context.Context, _ dbaccess.CallStart) context.Context { return ctx }

// CallEnd makes the call's span, under the span that is current in ctx.
func (o *Observer) CallEnd(ctx context.Context, e dbaccess.CallEnd) {
	if !spans.Recording(ctx) {
		return
	}
	out := outcome.Of(e.Err)
	span := spans.Span{
		Op:          "db",
		Description: e.Query.Summary(),
		Origin:      originOf(e.Route.Path),
		Status:      out.Status,
		Start:       e.Start,
		End:         e.End,
	}
	span.Data = o.attributes(&e, span.Description, out)
	if o.wantsPhases(&e) {
		span.Children = phaseSpans(e.Phases, span.Origin)
	}
	spans.Record(ctx, span)
}

func (o *Observer) wantsPhases(e *dbaccess.CallEnd) bool {
	switch o.detail {
	case always:
		return true
	case off:
		return false
	}
	return e.Conn == dbaccess.ConnNew || o.slow >= 0 && e.Duration() >= o.slow
}

// originOf follows https://develop.sentry.dev/sdk/telemetry/traces/trace-origin/
func originOf(p dbaccess.Path) sentry.SpanOrigin {
	if p == dbaccess.Direct {
		return "auto.db.pgx"
	}
	return "auto.db.postgrest"
}

// phaseSpans makes a flat list of spans: a phase that is divided further gives
// way to its parts. Phases without duration are left to the attributes.
func phaseSpans(phases []dbaccess.Phase, origin sentry.SpanOrigin) []spans.Span {
	out := make([]spans.Span, 0, len(phases)+4)
	for i := range phases {
		p := &phases[i]
		if len(p.Children) == 0 {
			out = appendPhase(out, "", p, origin)
			continue
		}
		for j := range p.Children {
			out = appendPhase(out, p.Name+": ", &p.Children[j], origin)
		}
	}
	return out
}

func appendPhase(out []spans.Span, parent string, p *dbaccess.Phase, origin sentry.SpanOrigin) []spans.Span {
	if p.Duration <= 0 {
		return out
	}
	data := phaseData
	if p.Placed {
		data = placedData
	}
	return append(out, spans.Span{
		Op:          phaseOp,
		Description: parent + p.Name,
		Origin:      origin,
		Status:      sentry.SpanStatusOK,
		Start:       p.Start,
		End:         p.Start.Add(p.Duration),
		Data:        data(),
	})
}

// phaseOp does not begin with "db", and the category says something else too,
// or Sentry would list phases among the queries.
const phaseOp = "twinpath.phase"

func phaseData() map[string]any { return map[string]any{"sentry.category": "twinpath"} }

func placedData() map[string]any {
	return map[string]any{"sentry.category": "twinpath", "placed": true}
}
