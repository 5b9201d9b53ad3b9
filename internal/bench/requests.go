package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/getsentry/sentry-go"
	sentryecho "github.com/getsentry/sentry-go/echo"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/middleware"
	"github.com/twinpath/twinpath/tracing"
)

// requestPair is an Echo request whose handler makes so many database calls, of which only the
// instrumentation is left: the middleware, and a span for each call with everything that ours says. What is
// finished goes to the transport. One pair can be open at a time.
func requestPair(rate float64, calls int, transport sentry.Transport) (*pair, error) {
	client, err := sentry.NewClient(sentry.ClientOptions{
		Dsn: "http://key@sentry.invalid/1", EnableTracing: true, TracesSampleRate: rate, Transport: transport,
	})
	if err != nil {
		return nil, err
	}
	sentry.CurrentHub().BindClient(client) // as sentry.Init does
	observer, end := tracing.NewObserver(), callEnd()
	return &pair{
		ours: request(middleware.Sentry(), func(c echo.Context) error {
			ctx := c.Request().Context()
			for range calls {
				observer.CallEnd(observer.CallStart(ctx, end.CallStart), end)
			}
			return c.NoContent(http.StatusNoContent)
		}),
		peer: request(sentryecho.New(sentryecho.Options{Repanic: true}), func(c echo.Context) error {
			ctx := sentryecho.GetSpanFromContext(c).Context()
			for range calls {
				spanByHand(ctx, &end)
			}
			return c.NoContent(http.StatusNoContent)
		}),
		close: func(context.Context) error {
			sentry.CurrentHub().BindClient(nil)
			client.Close()
			return nil
		},
	}, nil
}

// request serves one request with a middleware.
func request(m echo.MiddlewareFunc, handler echo.HandlerFunc) operation {
	e := echo.New()
	e.Use(m)
	e.GET("/u/:id", handler)
	r, err := http.NewRequest(http.MethodGet, "http://127.0.0.1/u/1", http.NoBody)
	return func() error {
		if err != nil {
			return err
		}
		e.ServeHTTP(nowhere{}, r)
		return nil
	}
}

// callEnd is a call on the direct path that found a connection and took 5 ms.
func callEnd() dbaccess.CallEnd {
	spec := filingsFrom(500, 50).Spec()
	start := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	end := dbaccess.CallEnd{
		CallStart: dbaccess.CallStart{
			Verb: "All", Query: &spec, Name: spec.Name, Role: "authenticated", Start: start,
			Route: dbaccess.Routed{
				Decision: dbaccess.Decision{Path: dbaccess.Direct, Variant: "direct", Flag: "db-access-path", Reason: "percent"},
				Path:     dbaccess.Direct, Reason: "percent",
			},
		},
		End: start, Rows: 50, Bytes: 4096, Status: http.StatusOK, Conn: dbaccess.ConnIdle,
	}
	for _, p := range []struct {
		name string
		took time.Duration
	}{
		{dbaccess.PhasePrepare, 20 * time.Microsecond}, {dbaccess.PhaseAcquire, 5 * time.Microsecond}, {dbaccess.PhaseNetwork, 3 * time.Millisecond},
		{dbaccess.PhaseDatabase, 1700 * time.Microsecond}, {dbaccess.PhaseRows, 225 * time.Microsecond}, {dbaccess.PhaseDecode, 50 * time.Microsecond},
	} {
		end.Phases = append(end.Phases, dbaccess.Phase{Name: p.name, Start: end.End, Duration: p.took, Placed: p.name == dbaccess.PhaseDatabase})
		end.End = end.End.Add(p.took)
	}
	return end
}

// spanByHand is what an application writes around a call to say the same.
func spanByHand(ctx context.Context, e *dbaccess.CallEnd) {
	span := sentry.StartSpan(ctx, "db", sentry.WithDescription("select filings by id"), sentry.WithSpanOrigin("auto.db.pgx"))
	span.StartTime, span.EndTime = e.Start, e.End
	span.SetData("db.system", "postgresql")
	span.SetData("db.system.name", "postgresql")
	span.SetData("db.operation", "select")
	span.SetData("db.operation.name", "select")
	span.SetData("db.collection.name", e.Query.From)
	span.SetData("db.query.summary", "select filings by id")
	span.SetData("db.query.name", e.Name)
	span.SetData("db.access_path", "direct")
	span.SetData("db.access_path.reason", "percent")
	span.SetData("db.access_path.variant", "direct")
	span.SetData("flag.evaluation.db-access-path", true)
	span.SetData("db.response.returned_rows", e.Rows)
	span.SetData("db.response.body.size", e.Bytes)
	span.SetData("http.response.status_code", e.Status)
	span.SetData("db.connection", "idle")
	for i, key := range []string{"prepare", "acquire", "network_pooler", "database", "rows", "decode"} {
		span.SetData("db.phase."+key+"_ms", float64(e.Phases[i].Duration.Microseconds())/1000)
	}
	span.Status = sentry.SpanStatusOK
	span.Finish()
}

// requests compares the middleware with sentryecho, sampled and not.
func requests(_ context.Context, s *session) (budgets []budget, err error) {
	const against = "sentryecho v0.44.1 and a span with the same attributes per call"
	for _, rate := range []float64{0, 1} {
		for _, calls := range []int{0, 5, 20} {
			sampled, limits := "unsampled", comparison{objects: 0.25, bytes: 0.25}
			if rate == 1 {
				sampled, limits = "sampled", comparison{objects: 0.9}
			}
			limits.name = fmt.Sprintf("middleware/%s/%dcalls", sampled, calls)
			limits.what = fmt.Sprintf("middleware, %s, %d calls", sampled, calls)
			limits.against, limits.info = against, calls < 20
			p, err := requestPair(rate, calls, discarding{})
			if err != nil {
				return nil, err
			}
			found, err := s.compare(p, limits)
			closing(&err, p.close)
			if err != nil {
				return nil, err
			}
			budgets = append(budgets, found...)
		}
	}
	return budgets, nil
}

// discarding is a transport to nowhere.
type discarding struct{}

var _ sentry.Transport = discarding{}

func (discarding) Configure(sentry.ClientOptions)        {}
func (discarding) SendEvent(*sentry.Event)               {}
func (discarding) Flush(time.Duration) bool              { return true }
func (discarding) FlushWithContext(context.Context) bool { return true }
func (discarding) Close()                                {}

// nowhere is a response that costs nothing.
type nowhere struct{}

var _ http.ResponseWriter = nowhere{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}
