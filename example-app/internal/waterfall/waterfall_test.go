package waterfall_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/example-app/internal/waterfall"
)

const event = `{
  "transaction": "GET /api/x", "start_timestamp": "2026-06-30T10:00:00Z", "timestamp": "2026-06-30T10:00:00.010Z",
  "contexts": {"trace": {"trace_id": "t", "span_id": "root", "op": "http.server", "status": "ok", "data": {"b": 2, "a": "x"}}},
  "spans": [
    {"span_id": "p2", "parent_span_id": "db", "op": "twinpath.phase", "description": "database", "start_timestamp": "2026-06-30T10:00:00.004Z", "timestamp": "2026-06-30T10:00:00.006Z"},
    {"span_id": "p1", "parent_span_id": "db", "op": "twinpath.phase", "description": "connect: tcp", "start_timestamp": "2026-06-30T10:00:00.001Z", "timestamp": "2026-06-30T10:00:00.004Z"},
    {"span_id": "db", "parent_span_id": "root", "op": "db", "description": "select x", "status": "ok", "start_timestamp": "2026-06-30T10:00:00.001Z", "timestamp": "2026-06-30T10:00:00.008Z", "data": {"db.access_path": "direct"}},
    {"span_id": "lost", "parent_span_id": "gone", "op": "db", "description": "database", "start_timestamp": 1782813600.0095, "timestamp": 1782813600.01}
  ]}`

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := waterfall.Parse([]byte(event))
	if err != nil {
		t.Fatal(err)
	}
	want := waterfall.Trace{
		TraceID: "t", Name: "GET /api/x", Op: "http.server", Status: "ok", Path: "direct",
		Start: time.Date(2026, 6, 30, 10, 0, 0, 0, time.UTC), DurationMS: 10,
		Attributes: []waterfall.Attribute{{Name: "a", Value: "x"}, {Name: "b", Value: "2"}},
		Spans: []waterfall.Span{
			{ID: "db", ParentID: "root", Op: "db", Name: "select x", Status: "ok", Depth: 1, OffsetMS: 1, DurationMS: 7, Attributes: []waterfall.Attribute{{Name: "db.access_path", Value: "direct"}}},
			{ID: "p1", ParentID: "db", Op: "twinpath.phase", Name: "connect: tcp", Phase: "tcp", Depth: 2, OffsetMS: 1, DurationMS: 3, Attributes: []waterfall.Attribute{}},
			{ID: "p2", ParentID: "db", Op: "twinpath.phase", Name: "database", Phase: "database", Depth: 2, OffsetMS: 4, DurationMS: 2, Attributes: []waterfall.Attribute{}},
			{ID: "lost", ParentID: "root", Op: "db", Name: "database", Depth: 1, OffsetMS: 9.5, DurationMS: 0.5, Attributes: []waterfall.Attribute{}},
		},
	}
	// Times that are numbers lose a microsecond on their way through float64.
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 0.002 })); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	if _, err := waterfall.Parse([]byte("{")); err == nil {
		t.Error("Parse takes half a transaction")
	}
}

func TestRecorder(t *testing.T) {
	t.Parallel()
	rec := waterfall.NewRecorder(3)
	client, err := sentry.NewClient(sentry.ClientOptions{EnableTracing: true, TracesSampleRate: 1, BeforeSendTransaction: rec.BeforeSend})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	ctx := sentry.SetHubOnContext(context.Background(), sentry.NewHub(client, sentry.NewScope()))
	for i := range 5 {
		path := "rest"
		if i%2 == 0 {
			path = "direct"
		}
		tx := sentry.StartTransaction(ctx, fmt.Sprintf("GET /%d", i))
		span := tx.StartChild("db")
		span.Description = "select x"
		span.SetData("db.access_path", path)
		span.Finish()
		tx.Finish()
	}
	var names, paths []string
	for _, tr := range rec.Traces() {
		names, paths = append(names, tr.Name), append(paths, tr.Path)
	}
	if diff := cmp.Diff([]string{"GET /4", "GET /3", "GET /2"}, names); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"direct", "rest", "direct"}, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

func TestPairs(t *testing.T) {
	t.Parallel()
	traces := []waterfall.Trace{
		{Name: "b", Path: "rest", DurationMS: 1}, {Name: "a", Path: "direct", DurationMS: 2}, {Name: "b", Path: "rest", DurationMS: 3},
		{Name: "b", Path: "direct", DurationMS: 4}, {Name: "c"},
	}
	var got []string
	for _, p := range waterfall.Pairs(traces) {
		s := p.Name
		for _, tr := range []*waterfall.Trace{p.REST, p.Direct} {
			if tr == nil {
				s += " -"
			} else {
				s += fmt.Sprintf(" %g", tr.DurationMS)
			}
		}
		got = append(got, s)
	}
	if diff := cmp.Diff([]string{"a - 2", "b 1 4"}, got); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
}

// FuzzParse checks that whatever it is given, Parse returns each span once and under a span that is
// there.
func FuzzParse(f *testing.F) {
	f.Add([]byte(event))
	f.Add([]byte(`{"spans":[{"span_id":"a","parent_span_id":"b"},{"span_id":"b","parent_span_id":"a"}]}`))
	f.Add([]byte(`{"spans":[{"span_id":"a","parent_span_id":"a","start_timestamp":1e300}]}`))
	f.Add([]byte(`{"start_timestamp":"0000-01-01T00:00:00+05:00"}`))
	f.Add([]byte(`{"start_timestamp":"9999-12-31T23:00:00-05:00"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		tr, err := waterfall.Parse(b)
		if err != nil {
			return
		}
		if _, err := json.Marshal(tr); err != nil {
			t.Fatalf("the trace has no JSON: %v", err)
		}
		depth := 0
		for _, s := range tr.Spans {
			if s.Depth < 1 || s.Depth > depth+1 {
				t.Fatalf("a span of depth %d follows one of depth %d", s.Depth, depth)
			}
			depth = s.Depth
		}
	})
}

func Example() {
	rec := waterfall.NewRecorder(10)
	client, err := sentry.NewClient(sentry.ClientOptions{EnableTracing: true, TracesSampleRate: 1, BeforeSendTransaction: rec.BeforeSend})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	ctx := sentry.SetHubOnContext(context.Background(), sentry.NewHub(client, sentry.NewScope()))
	sentry.StartTransaction(ctx, "GET /api/sectors").Finish()
	fmt.Println(rec.Traces()[0].Name)
	// Output: GET /api/sectors
}
