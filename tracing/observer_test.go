package tracing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/tracing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const canary = "canary-2c9e"

var filings = query.From("insider_transactions").Named("recent_filings").
	Where(query.Eq("ticker", canary), query.Gte("filed_at", canary))

// callEnd is a call over path that took d.
func callEnd(path dbaccess.Path, d time.Duration) dbaccess.CallEnd {
	spec := filings.Spec()
	start := time.Now().Add(-d)
	half := d / 2
	return dbaccess.CallEnd{
		CallStart: dbaccess.CallStart{
			Verb: "All", Query: &spec, Name: spec.Name, Role: "authenticated", Start: start,
			Route: dbaccess.Routed{
				Decision: dbaccess.Decision{Path: path, Variant: string(path), Flag: "db-access-path", Reason: "percent"},
				Path:     path, Reason: "percent",
			},
		},
		End: start.Add(d), Rows: 50, Bytes: 4096, Status: 200, Conn: dbaccess.ConnIdle,
		Phases: []dbaccess.Phase{
			{Name: dbaccess.PhasePrepare, Start: start},
			{Name: dbaccess.PhaseNetwork, Start: start, Duration: half},
			{Name: dbaccess.PhaseDatabase, Start: start.Add(half), Duration: d - half, Placed: true},
		},
	}
}

// warmed is an observer that has seen the first call of each path.
func warmed(opts ...tracing.Option) *tracing.Observer {
	o := tracing.NewObserver(opts...)
	for _, path := range []dbaccess.Path{dbaccess.REST, dbaccess.Direct} {
		o.CallEnd(context.Background(), callEnd(path, time.Millisecond))
	}
	return o
}

// observe runs one call under a transaction and returns what was sent.
func observe(t *testing.T, o *tracing.Observer, e dbaccess.CallEnd) (*sentrytest.Recorder, *sentry.Event) {
	t.Helper()
	r := sentrytest.New(t, nil)
	tx := tracing.NewTransaction(sentry.StartTransaction(r.Context(), "job"), tracing.DefaultMaxSpans)
	ctx := o.CallStart(tx.Context(), e.CallStart)
	o.CallEnd(ctx, e)
	tx.Finish()
	return r, r.One(t)
}

func TestSpanOfACall(t *testing.T) {
	t.Parallel()
	for _, path := range []dbaccess.Path{dbaccess.REST, dbaccess.Direct} {
		e := callEnd(path, 8*time.Millisecond)
		r, event := observe(t, warmed(), e)
		if len(event.Spans) != 1 {
			t.Fatalf("%s: %d spans, want the call's alone", path, len(event.Spans))
		}
		s := event.Spans[0]
		type span struct {
			Op, Description, Status string
			Origin                  sentry.SpanOrigin
			Start, End              time.Time
			Data                    map[string]any
		}
		want := span{
			Op: "db", Description: "select insider_transactions by ticker,filed_at", Status: "ok",
			Origin: map[dbaccess.Path]sentry.SpanOrigin{dbaccess.REST: "auto.db.postgrest", dbaccess.Direct: "auto.db.pgx"}[path],
			Start:  e.Start, End: e.End,
			Data: map[string]any{
				"db.system": "postgresql", "db.system.name": "postgresql",
				"db.operation": "select", "db.operation.name": "select",
				"db.collection.name": "insider_transactions",
				"db.query.summary":   "select insider_transactions by ticker,filed_at",
				"db.query.name":      "recent_filings",
				"db.access_path":     string(path), "db.access_path.reason": "percent", "db.access_path.variant": string(path),
				"flag.evaluation.db-access-path": path == dbaccess.Direct,
				"db.response.returned_rows":      int64(50), "db.response.body.size": 4096,
				"http.response.status_code": 200, "db.connection": "idle",
				"db.phase.prepare_ms": 0.0, "db.phase.network_pooler_ms": 4.0, "db.phase.database_ms": 4.0,
			},
		}
		got := span{s.Op, s.Description, s.Status.String(), s.Origin, s.StartTime, s.EndTime, s.Data}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		if s.ParentSpanID != event.Contexts["trace"]["span_id"] {
			t.Errorf("%s: the span is not the root's child", path)
		}
		if strings.Contains(r.Payload(t), canary) {
			t.Errorf("%s: a filter value is in %s", path, r.Payload(t))
		}
	}
}

func TestPhaseSpansByMode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		opt   tracing.Option
		took  time.Duration
		conn  dbaccess.ConnClass
		spans int
	}{
		{"default, fast", nil, 99 * time.Millisecond, dbaccess.ConnIdle, 1},
		{"default, slow", nil, 100 * time.Millisecond, dbaccess.ConnIdle, 3},
		{"default, cold", nil, time.Millisecond, dbaccess.ConnNew, 3},
		{"slow 5ms, slower", tracing.Slow(5 * time.Millisecond), 6 * time.Millisecond, dbaccess.ConnIdle, 3},
		{"slow 5ms, faster", tracing.Slow(5 * time.Millisecond), 4 * time.Millisecond, dbaccess.ConnQueued, 1},
		{"never for slowness, slow", tracing.Slow(-1), time.Hour, dbaccess.ConnIdle, 1},
		{"never for slowness, cold", tracing.Slow(-1), time.Millisecond, dbaccess.ConnNew, 3},
		{"always", tracing.Always(), time.Millisecond, dbaccess.ConnIdle, 3},
		{"off", tracing.Off(), time.Hour, dbaccess.ConnNew, 1},
	} {
		e := callEnd(dbaccess.Direct, tt.took)
		e.Conn = tt.conn
		_, event := observe(t, warmed(tt.opt), e)
		if len(event.Spans) != tt.spans {
			t.Errorf("%s: %d spans, want %d", tt.name, len(event.Spans), tt.spans)
		}
		if cold := event.Spans[0].Data["cold"]; (cold == true) != (tt.conn == dbaccess.ConnNew) {
			t.Errorf("%s: cold is %v", tt.name, cold)
		}
	}
}

// TestPhaseSpans: back-dated, contiguous, under the call, and nothing that Sentry
// would list as a query.
func TestPhaseSpans(t *testing.T) {
	t.Parallel()
	start := time.Now().Add(-time.Second)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	e := callEnd(dbaccess.REST, time.Second)
	e.Start, e.Phases = start, []dbaccess.Phase{
		{Name: dbaccess.PhaseAcquire, Start: at(0), Duration: 300 * time.Millisecond, Children: []dbaccess.Phase{
			{Name: dbaccess.PhaseQueue, Start: at(0), Duration: 50 * time.Millisecond},
			{Name: dbaccess.PhaseConnect, Start: at(50), Duration: 250 * time.Millisecond, Children: []dbaccess.Phase{
				{Name: dbaccess.PhaseTCP, Start: at(50), Duration: 50 * time.Millisecond},
				{Name: dbaccess.PhaseTLS, Start: at(100), Duration: 200 * time.Millisecond},
			}},
		}},
		{Name: "wait for it", Start: at(300), Duration: 700 * time.Millisecond, Placed: true},
		{Name: dbaccess.PhaseBody, Start: at(1000)},
	}
	_, event := observe(t, warmed(), e)
	call := event.Spans[0]
	type span struct {
		Description string
		From, To    int64
		Placed      any
	}
	var got []span
	parents := map[string]sentry.SpanID{}
	for _, s := range event.Spans[1:] {
		got = append(got, span{s.Description, s.StartTime.Sub(start).Milliseconds(), s.EndTime.Sub(start).Milliseconds(), s.Data["placed"]})
		parents[s.Description] = s.SpanID
		parent := call.SpanID
		if before, _, ok := strings.Cut(s.Description, ": "); ok {
			parent = parents[before]
			if before == dbaccess.PhaseConnect {
				parent = parents["acquire: connect"]
			}
		}
		if s.ParentSpanID != parent {
			t.Errorf("%s is under another span", s.Description)
		}
		if strings.HasPrefix(s.Op, "db") || s.Data["sentry.category"] == "db" {
			t.Errorf("%s would be taken for a query: %s, %v", s.Description, s.Op, s.Data)
		}
	}
	want := []span{
		{"acquire", 0, 300, nil}, {"acquire: queue", 0, 50, nil}, {"acquire: connect", 50, 300, nil},
		{"connect: tcp", 50, 100, nil}, {"connect: tls", 100, 300, nil}, {"wait for it", 300, 1000, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for key, ms := range map[string]float64{
		"db.phase.acquire_ms": 300, "db.phase.acquire.queue_ms": 50, "db.phase.acquire.connect_ms": 250,
		"db.phase.connect.tcp_ms": 50, "db.phase.connect.tls_ms": 200,
		"db.phase.wait_for_it_ms": 700, "db.phase.body_ms": 0,
	} {
		if call.Data[key] != ms {
			t.Errorf("%s is %v, want %v", key, call.Data[key], ms)
		}
	}
}

func TestPhaseKeys(t *testing.T) {
	t.Parallel()
	e := callEnd(dbaccess.Direct, time.Millisecond)
	e.Phases = nil
	names := []string{"prepare", "catalog", "acquire", "queue", "dns", "connect", "tcp", "tls", "startup", "network+pooler", "database", "rows", "send", "wait", "body", "decode"}
	for _, n := range names {
		e.Phases = append(e.Phases, dbaccess.Phase{Name: n, Duration: time.Millisecond})
	}
	_, event := observe(t, warmed(), e)
	for _, n := range names {
		key := "db.phase." + strings.ReplaceAll(n, "+", "_") + "_ms"
		if event.Spans[0].Data[key] != 1.0 {
			t.Errorf("%s is %v, want 1", key, event.Spans[0].Data[key])
		}
	}
}

// TestRepeatedPhasesAddUp has a read that was tried again on a new connection:
// what is left out of the attributes would be a gap.
func TestRepeatedPhasesAddUp(t *testing.T) {
	t.Parallel()
	const us = time.Microsecond
	e := callEnd(dbaccess.Direct, time.Millisecond)
	e.Phases = []dbaccess.Phase{
		{Name: dbaccess.PhasePrepare, Duration: 100 * us},
		{Name: dbaccess.PhaseAcquire, Duration: 100 * us},
		{Name: dbaccess.PhaseNetwork, Duration: 200 * us},
		{Name: dbaccess.PhaseAcquire, Duration: 1700 * us, Children: []dbaccess.Phase{
			{Name: dbaccess.PhaseQueue, Duration: 300 * us},
			{Name: dbaccess.PhaseTCP, Duration: 700 * us},
			{Name: dbaccess.PhaseTCP, Duration: 700 * us},
		}},
		{Name: dbaccess.PhaseNetwork, Duration: 100 * us},
		{Name: dbaccess.PhaseAcquire, Duration: 200 * us, Children: []dbaccess.Phase{{Name: dbaccess.PhaseQueue, Duration: 200 * us}}},
		{Name: "of its own", Duration: 100 * us}, {Name: "of its own", Duration: 200 * us},
	}
	_, event := observe(t, warmed(), e)
	got, sum := map[string]any{}, 0.0
	for key, v := range event.Spans[0].Data {
		if strings.HasPrefix(key, "db.phase.") {
			got[key] = v
			if strings.Count(key, ".") == 2 {
				sum += v.(float64)
			}
		}
	}
	want := map[string]any{
		"db.phase.prepare_ms": 0.1, "db.phase.acquire_ms": 2.0, "db.phase.network_pooler_ms": 0.3, "db.phase.of_its_own_ms": 0.3,
		"db.phase.acquire.queue_ms": 0.5, "db.phase.acquire.tcp_ms": 1.4,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if math.Abs(sum-2.7) > 1e-9 {
		t.Errorf("the phases add up to %v ms, want 2.7", sum)
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	server := dbaccess.ServerText{Message: canary, Detail: canary, Hint: canary}
	for _, tt := range []struct {
		name            string
		err             error
		status          sentry.SpanStatus
		code, errorType any
	}{
		{"none", nil, sentry.SpanStatusOK, nil, nil},
		{"canceled by the caller", dbaccess.Error{Kind: context.Canceled}.With(server, context.Canceled), sentry.SpanStatusCanceled, nil, nil},
		{"no rows", &dbaccess.Error{Kind: dbaccess.ErrNoRows, Code: "PGRST116"}, sentry.SpanStatusOK, "PGRST116", nil},
		{"a page past the end", &dbaccess.Error{Code: "PGRST103", HTTPStatus: 416}, sentry.SpanStatusOK, "PGRST103", nil},
		{"timeout", &dbaccess.Error{Kind: dbaccess.ErrTimeout}, sentry.SpanStatusDeadlineExceeded, nil, "timeout"},
		{"bare deadline", context.DeadlineExceeded, sentry.SpanStatusDeadlineExceeded, nil, "timeout"},
		{"statement timeout", &dbaccess.Error{Kind: dbaccess.ErrTimeout, Code: "57014"}, sentry.SpanStatusDeadlineExceeded, "57014", "57014"},
		{"permission", &dbaccess.Error{Kind: dbaccess.ErrPermission, Code: "42501"}, sentry.SpanStatusPermissionDenied, "42501", "42501"},
		{"conflict", dbaccess.Error{Kind: dbaccess.ErrConflict, Code: "23505"}.With(server, errors.New(canary)), sentry.SpanStatusAlreadyExists, "23505", "23505"},
		{"saturated", &dbaccess.Error{Kind: dbaccess.ErrSaturated}, sentry.SpanStatusResourceExhausted, nil, "saturated"},
		{"unavailable", &dbaccess.Error{Kind: dbaccess.ErrUnavailable}, sentry.SpanStatusUnavailable, nil, "unavailable"},
		{"truncated", dbaccess.ErrTruncated, sentry.SpanStatusOutOfRange, nil, "truncated"},
		{"unknown", errors.New(canary), sentry.SpanStatusInternalError, nil, "other"},
	} {
		e := callEnd(dbaccess.Direct, time.Millisecond)
		e.Err, e.Rows, e.Bytes, e.Status = tt.err, -1, 0, 0
		r, event := observe(t, tracing.NewObserver(tracing.Always()), e)
		s := event.Spans[0]
		if s.Status != tt.status || s.Data["db.response.status_code"] != tt.code || s.Data["error.type"] != tt.errorType {
			t.Errorf("%s: status %s, code %v, type %v; want %s, %v, %v", tt.name, s.Status, s.Data["db.response.status_code"], s.Data["error.type"], tt.status, tt.code, tt.errorType)
		}
		for _, key := range []string{"db.response.returned_rows", "db.response.body.size", "http.response.status_code"} {
			if v, ok := s.Data[key]; ok {
				t.Errorf("%s: %s is %v where it is not known", tt.name, key, v)
			}
		}
		if strings.Contains(r.Payload(t), canary) {
			t.Errorf("%s: the server's words are in %s", tt.name, r.Payload(t))
		}
	}
}

// TestCold: the first call of each path is, and every one that made a connection.
func TestCold(t *testing.T) {
	t.Parallel()
	o := tracing.NewObserver(tracing.Off())
	type cold struct{ Cold, Reason any }
	for i, tt := range []struct {
		path dbaccess.Path
		conn dbaccess.ConnClass
		want cold
	}{
		{dbaccess.Direct, dbaccess.ConnIdle, cold{true, "first_call"}},
		{dbaccess.Direct, dbaccess.ConnIdle, cold{nil, nil}},
		{dbaccess.REST, dbaccess.ConnNew, cold{true, "new_connection"}},
		{dbaccess.REST, dbaccess.ConnQueued, cold{nil, nil}},
		{dbaccess.Direct, dbaccess.ConnNew, cold{true, "new_connection"}},
	} {
		e := callEnd(tt.path, time.Millisecond)
		e.Conn = tt.conn
		_, event := observe(t, o, e)
		data := event.Spans[0].Data
		if diff := cmp.Diff(tt.want, cold{data["cold"], data["cold.reason"]}); diff != "" {
			t.Errorf("call %d (-want +got):\n%s", i, diff)
		}
		if _, ok := data["process.age_ms"].(float64); ok != (tt.want.Cold != nil) {
			t.Errorf("call %d: the process is %v ms old", i, data["process.age_ms"])
		}
	}
}

// TestRepeats: how often a call was tried, or into how many requests it was cut, is
// told where it isn't one.
func TestRepeats(t *testing.T) {
	t.Parallel()
	phases := func(names string) []dbaccess.Phase {
		var out []dbaccess.Phase
		for _, n := range strings.Fields(names) {
			out = append(out, dbaccess.Phase{Name: n})
		}
		return out
	}
	for _, tt := range []struct {
		path              dbaccess.Path
		conn              dbaccess.ConnClass
		phases            string
		requests, retries any
	}{
		{dbaccess.Direct, dbaccess.ConnIdle, "prepare acquire network+pooler database rows", nil, nil},
		{dbaccess.Direct, dbaccess.ConnIdle, "prepare acquire network+pooler prepare catalog acquire network+pooler database rows", nil, 1},
		{dbaccess.REST, dbaccess.ConnIdle, "prepare send wait body", 1, nil},
		{dbaccess.REST, dbaccess.ConnQueued, "prepare acquire send wait body", 1, nil},
		{dbaccess.REST, dbaccess.ConnNew, "prepare acquire connect send wait body", 1, 1},
		{dbaccess.REST, dbaccess.ConnIdle, "prepare send wait body prepare send wait body", 2, nil},
	} {
		e := callEnd(tt.path, time.Millisecond)
		e.Conn, e.Phases = tt.conn, phases(tt.phases)
		_, event := observe(t, warmed(), e)
		data := event.Spans[0].Data
		if tt.requests == 1 {
			tt.requests = nil
		}
		if data["http.request.count"] != tt.requests || data["db.retries"] != tt.retries {
			t.Errorf("%s, %s: %v requests and %v retries, want %v and %v", tt.path, tt.phases, data["http.request.count"], data["db.retries"], tt.requests, tt.retries)
		}
	}
}

// TestSQL: a transaction is no query, and statements of the application's own have
// what names they have.
func TestSQL(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		sql              dbaccess.SQL
		op, description  string
		operation, table any
		category         any
	}{
		{dbaccess.SQL{Operation: "transaction"}, "twinpath.transaction", "transaction", "transaction", nil, "twinpath"},
		{dbaccess.SQL{Operation: "truncate", Table: "companies"}, "db", "truncate companies", "truncate", "companies", nil},
		{dbaccess.SQL{Operation: "batch"}, "db", "batch", "batch", nil, nil},
	} {
		e := callEnd(dbaccess.Direct, time.Millisecond)
		e.Verb, e.Query, e.SQL, e.Name = "Exec", &query.Spec{Name: "mine"}, &tt.sql, "mine"
		_, event := observe(t, warmed(), e)
		s := event.Spans[0]
		if s.Op != tt.op || s.Description != tt.description || s.Data["db.operation.name"] != tt.operation ||
			s.Data["db.collection.name"] != tt.table || s.Data["sentry.category"] != tt.category || s.Data["db.query.name"] != "mine" {
			t.Errorf("got %s %q with %v", s.Op, s.Description, s.Data)
		}
	}
}

// TestFallbackIsTold: the flag said direct, the call went another way.
func TestFallbackIsTold(t *testing.T) {
	t.Parallel()
	e := callEnd(dbaccess.Direct, time.Millisecond)
	e.Route.Path, e.Route.Reason = dbaccess.REST, "fallback: direct is not configured"
	_, event := observe(t, warmed(), e)
	want := map[string]any{"db.access_path": "rest", "db.access_path.reason": "fallback: direct is not configured", "db.access_path.variant": "direct", "flag.evaluation.db-access-path": true}
	for k, v := range want {
		if got := event.Spans[0].Data[k]; got != v {
			t.Errorf("%s is %v, want %v", k, got, v)
		}
	}
}

func TestNothingWithoutASampledSpan(t *testing.T) {
	r := sentrytest.New(t, func(o *sentry.ClientOptions) { o.TracesSampleRate = 0 })
	off := sentrytest.New(t, func(o *sentry.ClientOptions) { o.EnableTracing = false })
	unsampled := tracing.NewTransaction(sentry.StartTransaction(r.Context(), "job"), -1)
	o := tracing.NewObserver(tracing.Always())
	e := callEnd(dbaccess.Direct, time.Second)
	for name, ctx := range map[string]context.Context{
		"no span":            r.Context(),
		"unsampled":          unsampled.Context(),
		"unsampled, foreign": sentry.StartTransaction(r.Context(), "job").Context(),
		"tracing off":        sentry.StartTransaction(off.Context(), "job").Context(),
	} {
		if allocs := testing.AllocsPerRun(100, func() { o.CallEnd(o.CallStart(ctx, e.CallStart), e) }); allocs != 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
	unsampled.Finish()
	if n := len(r.Transactions()); n != 0 {
		t.Errorf("%d transactions were sent", n)
	}
}

// TestForeignTransaction: a transaction that someone else started will do.
func TestForeignTransaction(t *testing.T) {
	t.Parallel()
	r := sentrytest.New(t, nil)
	root := sentry.StartTransaction(r.Context(), "foreign")
	inner := root.StartChild("task")
	tracing.NewObserver(tracing.Always()).CallEnd(inner.Context(), callEnd(dbaccess.REST, time.Millisecond))
	inner.Finish()
	root.Finish()
	event := r.One(t)
	if len(event.Spans) != 4 || event.Spans[1].ParentSpanID != event.Spans[0].SpanID {
		t.Errorf("%d spans", len(event.Spans))
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	r := sentrytest.New(t, nil)
	tx := tracing.NewTransaction(sentry.StartTransaction(r.Context(), "job"), 5)
	o := warmed(tracing.Always())
	for range 4 { // 1+2 spans, then 1 for want of room for its phases, then 1, then none
		o.CallEnd(tx.Context(), callEnd(dbaccess.Direct, 10*time.Millisecond))
	}
	tx.Finish()
	tx.Finish()
	event := r.One(t)
	var calls int
	for _, s := range event.Spans {
		if s.Op == "db" {
			calls++
		}
	}
	if len(event.Spans) != 5 || calls != 3 {
		t.Errorf("%d spans, %d of them calls; want 5 and 3", len(event.Spans), calls)
	}
	data := sentrytest.RootData(event)
	if data["db.spans_dropped"] != 1 || data["db.spans_dropped_ms"] != 10.0 {
		t.Errorf("the root says %v", data)
	}
}

// TestParallelCallsAndLateOnes is for the race detector: calls side by side, some
// of which end after their transaction.
func TestParallelCallsAndLateOnes(t *testing.T) {
	t.Parallel()
	r := sentrytest.New(t, nil)
	hub := r.Hub.Clone()
	tx := tracing.NewTransaction(sentry.StartTransaction(sentry.SetHubOnContext(context.Background(), hub), "job"), -1)
	o := tracing.NewObserver(tracing.Always())
	var wg sync.WaitGroup
	started := make(chan struct{}, 64)
	for range 16 {
		wg.Go(func() {
			for range 50 {
				o.CallEnd(tx.Context(), callEnd(dbaccess.Direct, time.Millisecond))
				hub.CaptureException(errors.New("beside it"))
				select {
				case started <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 8 {
		<-started
	}
	tx.Finish()
	sent := len(r.One(t).Spans)
	wg.Wait()
	if now := len(r.One(t).Spans); now != sent || sent == 0 {
		t.Errorf("%d spans when finished, %d later", sent, now)
	}
	root := tx.Root().SpanID
	for _, e := range r.Errors() {
		if e.Contexts["trace"]["span_id"] != root {
			t.Fatal("a call changed the span that errors are attached to")
		}
	}
}

func TestTransactionFrom(t *testing.T) {
	t.Parallel()
	r := sentrytest.New(t, nil)
	if _, ok := tracing.TransactionFrom(r.Context()); ok {
		t.Error("found one where there is none")
	}
	tx := tracing.NewTransaction(sentry.StartTransaction(r.Context(), "job"), -1)
	defer tx.Finish()
	got, ok := tracing.TransactionFrom(tx.Context())
	if !ok || got.Root() != tx.Root() || !got.Sampled() {
		t.Error("the transaction is lost")
	}
}

func BenchmarkCallEnd(b *testing.B) {
	for _, rate := range []float64{0, 1} {
		b.Run(fmt.Sprintf("rate=%v", rate), func(b *testing.B) {
			r := sentrytest.New(b, func(o *sentry.ClientOptions) { o.TracesSampleRate = rate })
			o := tracing.NewObserver()
			e := callEnd(dbaccess.Direct, time.Millisecond)
			b.ReportAllocs()
			for b.Loop() {
				tx := tracing.NewTransaction(sentry.StartTransaction(r.Context(), "job"), -1)
				for range 20 {
					o.CallEnd(tx.Context(), e)
				}
			}
		})
	}
}

var _ json.Marshaler = sentry.SpanStatus(0) // the payload spells statuses out
