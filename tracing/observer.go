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
	detail detailOption
	made   time.Time // as good as the process' start, which Go does not tell
	called [2]atomic.Bool

	lastFlagKey atomic.Pointer[string]
}

var _ dbaccess.Observer = (*Observer)(nil)

// NewObserver makes an Observer. Nil options are ignored.
func NewObserver(opts ...Option) *Observer {
	o := &Observer{detail: detailOption{slowOrCold, DefaultSlow}, made: time.Now()}
	for _, opt := range opts {
		if opt != nil {
			opt.apply(o)
		}
	}
	return o
}

// CallStart does nothing: a span is made when its call is over, see CallEnd.
func (o *Observer) CallStart(ctx context.Context, _ dbaccess.CallStart) context.Context { return ctx }

// CallEnd makes the call's span, under the span that is current in ctx. A
// transaction's span is beside those of its statements, which were made before.
func (o *Observer) CallEnd(ctx context.Context, e dbaccess.CallEnd) {
	why := coldnessOf(&o.called, &e)
	if !spans.Recording(ctx) {
		return
	}
	out := outcome.Of(e.Err)
	span := spans.Span{
		Op:          "db",
		Description: e.Summary(),
		Origin:      originOf(e.Route.Path),
		Status:      out.Status,
		Start:       e.Start,
		End:         e.End,
	}
	span.Data = o.attributes(&e, span.Description, out)
	if why != warm {
		span.Data["cold"] = true
		span.Data["cold.reason"] = string(why)
		span.Data["process.age_ms"] = spans.Milliseconds(e.Start.Sub(o.made))
	}
	if isTransaction(&e) {
		span.Op = transactionOp
		span.Data["sentry.category"] = category
	}
	if o.detail.wants(why == newConnection, e.Duration()) {
		span.Children = phaseSpans("", e.Phases, span.Origin)
	}
	spans.Record(ctx, span)
}

// isTransaction says whether an event is that of a transaction as a whole.
func isTransaction(e *dbaccess.CallEnd) bool { return e.SQL != nil && e.SQL.Operation == "transaction" }

// coldness is why a call had to wait for what later ones find done.
type coldness string

const (
	warm          coldness = ""
	newConnection coldness = "new_connection"
	firstCall     coldness = "first_call" // on its path
)

// coldnessOf judges a call. called remembers, for each path, that there was one.
func coldnessOf(called *[2]atomic.Bool, e *dbaccess.CallEnd) coldness {
	path := &called[0]
	if e.Route.Path == dbaccess.REST {
		path = &called[1]
	}
	first := !path.Load() && !path.Swap(true)
	switch {
	case e.Conn == dbaccess.ConnNew:
		return newConnection
	case first:
		return firstCall
	}
	return warm
}

// originOf follows https://develop.sentry.dev/sdk/telemetry/traces/trace-origin/
func originOf(p dbaccess.Path) sentry.SpanOrigin {
	if p == dbaccess.Direct {
		return "auto.db.pgx"
	}
	return "auto.db.postgrest"
}

// phaseSpans makes spans of phases and of what they are divided into. Phases
// without duration are left to the attributes.
func phaseSpans(parent string, phases []dbaccess.Phase, origin sentry.SpanOrigin) []spans.Span {
	out := make([]spans.Span, 0, len(phases))
	for i := range phases {
		p := &phases[i]
		if p.Duration <= 0 {
			continue
		}
		span := spans.Span{
			Op:          phaseOp,
			Description: parent + p.Name,
			Origin:      origin,
			Status:      sentry.SpanStatusOK,
			Start:       p.Start,
			End:         p.Start.Add(p.Duration),
			Data:        map[string]any{"sentry.category": category},
		}
		if p.Placed {
			span.Data["placed"] = true
		}
		if len(p.Children) > 0 {
			span.Children = phaseSpans(p.Name+": ", p.Children, origin)
		}
		out = append(out, span)
	}
	return out
}

// The ops of what is no query don't begin with "db", and the category says
// something else too, or Sentry would list them among the queries.
const (
	phaseOp       = "twinpath.phase"
	transactionOp = "twinpath.transaction"
	category      = "twinpath"
)
