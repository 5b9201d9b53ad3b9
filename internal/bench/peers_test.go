package main

import (
	"context"
	"net"
	"testing"

	"github.com/getsentry/sentry-go"
	"github.com/google/go-cmp/cmp"
)

// TestSpansSayTheSame: a comparison of unequal spans would prove nothing.
func TestSpansSayTheSame(t *testing.T) {
	transport := &sentry.MockTransport{}
	p, err := requestPair(1, 3, transport)
	if err != nil {
		t.Fatal(err)
	}
	// The first call of a query says that it is cold, so it takes the second ones to compare.
	for _, op := range []operation{p.ours, p.ours, p.peer, p.peer} {
		if err := op(); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.close(context.Background()); err != nil {
		t.Fatal(err)
	}
	events := transport.Events()
	if len(events) != 4 {
		t.Fatalf("%d events, want 4", len(events))
	}
	events = []*sentry.Event{events[1], events[3]}
	for i := range 2 {
		if n := len(events[i].Spans); n != 3 {
			t.Fatalf("event %d has %d spans, want 3", i, n)
		}
	}
	type said struct {
		Op, Description string
		Origin          sentry.SpanOrigin
		Status          sentry.SpanStatus
		Micros          int64
		Data            map[string]any
	}
	says := func(s *sentry.Span) said {
		return said{s.Op, s.Description, s.Origin, s.Status, s.EndTime.Sub(s.StartTime).Microseconds(), s.Data}
	}
	for i := range 3 {
		if diff := cmp.Diff(says(events[0].Spans[i]), says(events[1].Spans[i])); diff != "" {
			t.Errorf("span %d (-ours +peer)\n%s", i, diff)
		}
	}
}

// TestRESTPair: both clients get the rows, and keep their connections.
func TestRESTPair(t *testing.T) {
	// Not in parallel: the allocations of other tests would be counted.
	body, err := answer(50)
	if err != nil {
		t.Fatal(err)
	}
	server, err := serve(body, 50, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	p, err := restPair(t.Context(), server, 50)
	if err != nil {
		t.Fatal(err)
	}
	for name, op := range map[string]operation{"ours": p.ours, "peer": p.peer} {
		if err := op.times(5); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := p.close(t.Context()); err != nil {
		t.Error(err)
	}
	if n := server.accepted.Load(); n != 2 {
		t.Errorf("%d connections, want one each", n)
	}

	conn, err := net.Dial("tcp", server.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	request, buf := []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), make([]byte, len(server.answer))
	if allocs := testing.AllocsPerRun(100, func() {
		if _, err := conn.Write(request); err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(buf); {
			read, err := conn.Read(buf[n:])
			if err != nil {
				t.Fatal(err)
			}
			n += read
		}
	}); allocs != 0 {
		t.Errorf("the server allocates: %v objects a request", allocs)
	}
}
