package tracing_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/google/go-cmp/cmp"
	"github.com/supabase-community/postgrest-go"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/tracing"
)

// traced runs f under a transaction and returns its spans. No value may be in
// what was sent.
func traced(t *testing.T, f func(ctx context.Context)) []*sentry.Span {
	t.Helper()
	r := sentrytest.New(t, nil)
	tx := tracing.NewTransaction(sentry.StartTransaction(r.Context(), "job"), -1)
	f(tx.Context())
	tx.Finish()
	if strings.Contains(r.Payload(t), canary) {
		t.Errorf("a value is in %s", r.Payload(t))
	}
	return r.One(t).Spans
}

// clientSpans are the spans of requests, without those of phases.
func clientSpans(all []*sentry.Span) []*sentry.Span {
	var out []*sentry.Span
	for _, s := range all {
		if s.Op == "http.client" {
			out = append(out, s)
		}
	}
	return out
}

// server is one on loopback, and base a transport of the test's own for it.
func server(t *testing.T, h http.HandlerFunc) (host string, base *http.Transport) {
	t.Helper()
	srv := httptest.NewServer(h)
	base = &http.Transport{}
	t.Cleanup(func() {
		base.CloseIdleConnections()
		srv.Close()
	})
	return strings.TrimPrefix(srv.URL, "http://"), base
}

// get sends a request and reads its answer.
func get(ctx context.Context, rt http.RoundTripper, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := (&http.Client{Transport: rt}).Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func TestTransportSpan(t *testing.T) {
	t.Parallel()
	host, base := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Sentry-Trace") != "" {
			t.Error("the trace's headers went to a stranger")
		}
		_, _ = io.WriteString(w, "12345")
	})
	rt := tracing.NewTransport(base, nil, tracing.Off())
	all := traced(t, func(ctx context.Context) {
		for range 2 {
			if body, err := get(ctx, rt, "http://user:"+canary+"@"+host+"/users/"+canary+"?email=eq."+canary+"#"+canary); err != nil || body != "12345" {
				t.Errorf("got %q, %v", body, err)
			}
		}
	})
	if len(all) != 2 {
		t.Fatalf("%d spans", len(all))
	}
	name, port, _ := net.SplitHostPort(host)
	for i, s := range all {
		if s.Op != "http.client" || s.Description != "GET http://"+host+"/*" || s.Status != sentry.SpanStatusOK || s.Origin != "auto.http.twinpath" {
			t.Errorf("got %s %q, %s", s.Op, s.Description, s.Status)
		}
		sum := 0.0
		for key, v := range s.Data {
			if strings.HasPrefix(key, "http.phase.") {
				sum += v.(float64)
				delete(s.Data, key)
			}
		}
		if took := float64(s.EndTime.Sub(s.StartTime).Microseconds()) / 1000; sum < took-.02 || sum > took+.02 {
			t.Errorf("phases of %v ms, of %v ms", sum, took)
		}
		want := map[string]any{
			"http.request.method": "GET", "url.scheme": "http", "url.template": "/*", "server.address": name, "server.port": atoi(t, port),
			"http.response.status_code": 200, "http.response.body.size": int64(5), "network.protocol.version": "1", "http.connection": "idle",
		}
		if i == 0 {
			want["http.connection"], want["cold"] = "new", true
		}
		if diff := cmp.Diff(want, s.Data); diff != "" {
			t.Errorf("request %d (-want +got):\n%s", i, diff)
		}
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n := 0
	for _, c := range s {
		n = n*10 + int(c-'0')
	}
	return n
}

func TestTransportPhaseSpans(t *testing.T) {
	t.Parallel()
	host, base := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Server", "postgrest/14.2")
		w.Header().Set("Server-Timing", "jwt;dur=0.0, transaction;dur=0.1")
		time.Sleep(time.Millisecond)
		_, _ = io.WriteString(w, "[]")
	})
	all := traced(t, func(ctx context.Context) {
		if _, err := get(ctx, tracing.NewTransport(base, tracing.Always()), "http://"+host+"/rest/v1/companies"); err != nil {
			t.Error(err)
		}
	})
	at, client := all[0].StartTime, all[0]
	var names []string
	for _, s := range all[1:] {
		names = append(names, s.Description)
		if strings.HasPrefix(s.Description, "wait: ") {
			if s.Data["placed"] != true {
				t.Errorf("%s is not marked as placed", s.Description)
			}
			continue
		}
		if !s.StartTime.Equal(at) || s.ParentSpanID != client.SpanID {
			t.Errorf("%s begins %v after the one before", s.Description, s.StartTime.Sub(at))
		}
		at = s.EndTime
	}
	if !at.Equal(client.EndTime) {
		t.Errorf("the last phase ends %v before the request", client.EndTime.Sub(at))
	}
	if diff := cmp.Diff("acquire connect send wait wait: postgrest.transaction body", strings.Join(names, " ")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if client.Data["http.phase.wait.postgrest.transaction_ms"] != 0.1 {
		t.Errorf("the request says %v", client.Data)
	}
}

func TestTransportNames(t *testing.T) {
	t.Parallel()
	template := tracing.PathTemplate(func(r *http.Request) string {
		if strings.HasPrefix(r.URL.Path, "/users/") {
			return "/users/{id}"
		}
		return ""
	})
	bound := func(ctx context.Context, base http.RoundTripper) http.RoundTripper {
		return tracing.BindTransport(ctx, base)
	}
	free := func(_ context.Context, base http.RoundTripper) http.RoundTripper {
		return tracing.NewTransport(base, template)
	}
	for _, tt := range []struct {
		make       func(context.Context, http.RoundTripper) http.RoundTripper
		path, want string
	}{
		{free, "/users/4711", "/users/{id}"},
		{free, "/orders/4711", "/*"},
		{free, "/", "/*"},
		{free, "/rest/v1/companies?ticker=eq." + canary, "/rest/v1/companies"},
		{free, "/rest/v1/rpc/best_of", "/rest/v1/rpc/best_of"},
		{free, "/rest/v1/users/4711", "/*"},
		{free, "/rest/v1/0c5b9e42-7e3f-4a9e-9e57-0c9c5b8f3c11", "/*"},
		{free, "/rest/v1/ac5b9e42-7e3f-4a9e-9e57-0c9c5b8f3c11", "/*"},
		{free, "/rest/v1/a%40b.c", "/*"},
		{bound, "/companies?ticker=eq." + canary, "/companies"},
		{bound, "/rpc/best_of", "/rpc/best_of"},
		{bound, "/api/4711/companies", "/api/*/companies"},
		{bound, "/a%40b.c", "/*"},
	} {
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
		})
		all := traced(t, func(ctx context.Context) {
			if _, err := get(ctx, tt.make(ctx, base), "https://api.example.org"+tt.path); err != nil {
				t.Error(err)
			}
		})
		if want := "GET https://api.example.org" + tt.want; len(all) != 1 || all[0].Description != want {
			t.Errorf("%s: %q, want %q", tt.path, all[0].Description, want)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTransportOutcomes(t *testing.T) {
	t.Parallel()
	host, base := server(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/404":
			w.WriteHeader(404)
		case "/500":
			w.WriteHeader(500)
		case "/from":
			http.Redirect(w, r, "/to?x="+canary, http.StatusFound)
		case "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "short")
		case "/slow":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	})
	rt := tracing.NewTransport(base, tracing.Off())
	type outcome struct {
		Status string
		Error  any
	}
	for _, tt := range []struct {
		name, url string
		timeout   time.Duration
		cancel    bool
		want      []outcome
	}{
		{"ok", "http://" + host + "/", 0, false, []outcome{{"ok", nil}}},
		{"not found", "http://" + host + "/404", 0, false, []outcome{{"not_found", "404"}}},
		{"server's error", "http://" + host + "/500", 0, false, []outcome{{"internal_error", "500"}}},
		{"redirect", "http://" + host + "/from", 0, false, []outcome{{"ok", nil}, {"ok", nil}}},
		{"cut short", "http://" + host + "/cut", 0, false, []outcome{{"internal_error", "other"}}},
		{"canceled", "http://" + host + "/slow", 0, true, []outcome{{sentry.SpanStatusCanceled.String(), nil}}},
		{"deadline", "http://" + host + "/slow", 50 * time.Millisecond, false, []outcome{{"deadline_exceeded", "timeout"}}},
		{"nobody there", "http://127.0.0.1:1/", 0, false, []outcome{{"unavailable", "connect"}}},
		{"no such host", "http://nobody.invalid./", 0, false, []outcome{{"unavailable", "dns"}}},
		{"no TLS", "https://" + host + "/", 0, false, []outcome{{"unavailable", "tls"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := traced(t, func(ctx context.Context) {
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				if tt.timeout > 0 {
					ctx, cancel = context.WithTimeout(ctx, tt.timeout)
					defer cancel()
				}
				if tt.cancel {
					time.AfterFunc(50*time.Millisecond, cancel)
				}
				_, _ = get(ctx, rt, tt.url)
			})
			var got []outcome
			for _, s := range all {
				got = append(got, outcome{s.Status.String(), s.Data["error.type"]})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTransportBody: the span lasts as long as the body does.
func TestTransportBody(t *testing.T) {
	t.Parallel()
	const pause = 20 * time.Millisecond
	host, base := server(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 64<<10)) })
	rt := tracing.NewTransport(base, tracing.Off())
	for name, read := range map[string]func(*http.Response){
		"read":       func(r *http.Response) { _, _ = io.Copy(io.Discard, r.Body) },
		"closed":     func(r *http.Response) { _ = r.Body.Close() },
		"both twice": func(r *http.Response) { _, _ = io.Copy(io.Discard, r.Body); _ = r.Body.Close(); _ = r.Body.Close() },
	} {
		all := traced(t, func(ctx context.Context) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := rt.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(pause)
			read(resp)
			_ = resp.Body.Close()
		})
		if len(all) != 1 {
			t.Errorf("%s: %d spans", name, len(all))
			continue
		}
		if ms := all[0].Data["http.phase.body_ms"].(float64); ms < float64(pause.Milliseconds()) {
			t.Errorf("%s: the body took %v ms", name, ms)
		}
	}

	// A body that nobody ends ends with the request's context.
	all := traced(t, func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		context.AfterFunc(ctx, func() { close(done) })
		cancel()
		<-done
		time.Sleep(300 * time.Millisecond) // for the transport's own, which runs beside it
		_ = resp.Body.Close()
	})
	if len(all) != 1 || all[0].Status != sentry.SpanStatusCanceled {
		t.Errorf("an abandoned body: %d spans", len(all))
	}
}

// TestTransportParallel is for the race detector: bodies read and closed at once,
// with a context that ends.
func TestTransportParallel(t *testing.T) {
	t.Parallel()
	host, base := server(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 1<<20)) })
	rt := tracing.NewTransport(base)
	all := traced(t, func(ctx context.Context) {
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(ctx)
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/", nil)
				if err != nil {
					t.Error(err)
					cancel()
					return
				}
				resp, err := rt.RoundTrip(req)
				if err != nil {
					t.Error(err)
					cancel()
					return
				}
				wg.Go(cancel)
				wg.Go(func() { _ = resp.Body.Close() })
				_, _ = io.Copy(io.Discard, resp.Body)
			})
		}
		wg.Wait()
	})
	if n := len(clientSpans(all)); n > 16 || n == 0 {
		t.Errorf("%d spans", n)
	}
}

func TestPropagateTo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		targets []string
		url     string
		want    bool
	}{
		{nil, "http://api.example.org/", false},
		{[]string{"api.example.org"}, "http://api.example.org/", true},
		{[]string{"API.example.org"}, "https://api.Example.org:8443/", true},
		{[]string{"api.example.org:8443"}, "https://api.example.org:8443/", true},
		{[]string{"api.example.org:8443"}, "https://api.example.org/", false},
		{[]string{".example.org"}, "http://api.example.org/", true},
		{[]string{".example.org"}, "http://example.org/", false},
		{[]string{"example.org"}, "http://evil-example.org/", false},
		{[]string{"example.org"}, "http://example.org.evil.test/", false},
		{[]string{"example.org"}, "http://evil.test/?example.org", false},
		{[]string{""}, "http://evil.test/", false},
		{[]string{"[::1]"}, "http://[::1]:80/", true},
	} {
		var got http.Header
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			got = r.Header
			return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
		})
		for _, rate := range []float64{0, 1} {
			r := sentrytest.New(t, func(o *sentry.ClientOptions) { o.TracesSampleRate = rate })
			tx := tracing.NewTransaction(sentry.StartTransaction(r.Context(), "job"), -1)
			req, err := http.NewRequestWithContext(tx.Context(), http.MethodGet, tt.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Baggage", "mine=1")
			if _, err := tracing.NewTransport(base, tracing.PropagateTo(tt.targets...)).RoundTrip(req); err != nil {
				t.Fatal(err)
			}
			want := tracing.Headers(tx.Context())
			if sent := got.Get("Sentry-Trace") == want.SentryTrace; sent != tt.want || want.SentryTrace == "" {
				t.Errorf("%v, %s, rate %v: headers %v", tt.targets, tt.url, rate, got)
			}
			if tt.want && got.Get("Baggage") != "mine=1,"+want.Baggage {
				t.Errorf("%v, %s: baggage %q", tt.targets, tt.url, got.Get("Baggage"))
			}
			if req.Header.Get("Sentry-Trace") != "" {
				t.Error("the caller's request was changed")
			}
			tx.Finish()
		}
	}
}

func TestBindTransport(t *testing.T) {
	t.Parallel()
	host, base := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Range", "0-0/*")
		_, _ = io.WriteString(w, `[{"ticker":"ACME"}]`)
	})
	all := traced(t, func(ctx context.Context) {
		client := postgrest.NewClient("http://"+host+"/rest/v1", "", map[string]string{"apikey": canary})
		client.Transport.Parent = tracing.BindTransport(ctx, base)
		for range 2 {
			if body, _, err := client.From("companies").Select("*", "", false).Eq("ticker", canary).Execute(); err != nil || !strings.Contains(string(body), "ACME") {
				t.Errorf("got %s, %v", body, err)
			}
		}
		client.Rpc("best_of", "", map[string]string{"ticker": canary})
	})
	var got []string
	for _, s := range clientSpans(all) {
		got = append(got, s.Description+" "+s.Data["http.connection"].(string)+" "+s.Data["db.access_path"].(string))
	}
	want := []string{
		"GET http://" + host + "/rest/v1/companies new rest", "GET http://" + host + "/rest/v1/companies idle rest",
		"POST http://" + host + "/rest/v1/rpc/best_of idle rest",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBoundContext: it ends the request, and so does the client's own timeout.
func TestBoundContext(t *testing.T) {
	t.Parallel()
	host, base := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	for _, sampled := range []bool{false, true} {
		r := sentrytest.New(t, func(o *sentry.ClientOptions) {
			if !sampled {
				o.TracesSampleRate = 0
			}
		})
		tx := tracing.NewTransaction(sentry.StartTransaction(r.Context(), "job"), -1)
		ctx, cancel := context.WithCancel(tx.Context())
		client := &http.Client{Transport: tracing.BindTransport(ctx, base)}
		resp, err := client.Get("http://" + host + "/")
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		_ = resp.Body.Close()

		client = &http.Client{Transport: tracing.BindTransport(tx.Context(), base), Timeout: 50 * time.Millisecond}
		var timeout interface{ Timeout() bool }
		if resp, err = client.Get("http://" + host + "/"); err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("got %v", err)
		}
		tx.Finish()
	}
}

// TestTransportUpgrade: an answer that changes the protocol keeps its connection
// writable.
func TestTransportUpgrade(t *testing.T) {
	t.Parallel()
	host, base := server(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString(line)
		_ = rw.Flush()
	})
	all := traced(t, func(ctx context.Context) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "echo")
		resp, err := tracing.NewTransport(base, tracing.Off()).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		_, err = io.WriteString(resp.Body.(io.Writer), "hello\n")
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || line != "hello\n" {
			t.Errorf("got %q, %v", line, err)
		}
	})
	if len(all) != 1 || all[0].Data["http.response.status_code"] != 101 {
		t.Errorf("%d spans", len(all))
	}
}

// viaHTTP is a path of the facade that sends by a traced client.
type viaHTTP struct {
	rt  http.RoundTripper
	url string
}

func (p viaHTTP) Do(ctx context.Context, _ *dbaccess.Call) (*dbaccess.Result, error) {
	body, err := get(ctx, p.rt, p.url)
	return &dbaccess.Result{Body: []byte(body), Total: -1, Status: 200}, err
}
func (viaHTTP) Close(context.Context) error { return nil }

func TestTransportIsSilentInsideTheFacade(t *testing.T) {
	t.Parallel()
	host, base := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Sentry-Trace") != "" {
			t.Error("the trace's headers were sent")
		}
		_, _ = io.WriteString(w, "[]")
	})
	db, err := dbaccess.New(dbaccess.Config{
		REST:    viaHTTP{tracing.NewTransport(base, tracing.PropagateTo("127.0.0.1")), "http://" + host + "/"},
		Default: &auth.Identity{Role: "anon"}, Observers: []dbaccess.Observer{tracing.NewObserver(tracing.Off())},
	})
	if err != nil {
		t.Fatal(err)
	}
	all := traced(t, func(ctx context.Context) {
		if _, err := dbaccess.JSON(ctx, db, query.From("companies")); err != nil {
			t.Error(err)
		}
	})
	if len(all) != 1 || all[0].Op != "db" {
		t.Errorf("%d spans", len(all))
	}
}

func TestTransportCostsNothingUnsampled(t *testing.T) {
	r := sentrytest.New(t, func(o *sentry.ClientOptions) { o.TracesSampleRate = 0 })
	tx := tracing.NewTransaction(sentry.StartTransaction(r.Context(), "job"), -1)
	defer tx.Finish()
	resp := &http.Response{StatusCode: 200, Body: http.NoBody}
	base := roundTripper(func(*http.Request) (*http.Response, error) { return resp, nil })
	rt := tracing.NewTransport(base)
	u, err := url.Parse("http://api.example.org/")
	if err != nil {
		t.Fatal(err)
	}
	req := (&http.Request{Method: http.MethodGet, URL: u}).WithContext(tx.Context())
	if n := testing.AllocsPerRun(100, func() { _, _ = rt.RoundTrip(req) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestTransportRacedDials: addresses are raced, a kept connection turns out to be
// dead, and dials go on telling when their request is long over.
func TestTransportRacedDials(t *testing.T) {
	t.Parallel()
	const pause = 3 * time.Millisecond
	var late *httptrace.ClientTrace
	dial := func(h *httptrace.ClientTrace) {
		h.DNSStart(httptrace.DNSStartInfo{Host: canary})
		time.Sleep(pause)
		h.DNSDone(httptrace.DNSDoneInfo{})
		h.ConnectStart("tcp", "[::1]:443")
		h.ConnectStart("tcp", "127.0.0.1:443")
		time.Sleep(pause)
	}
	for _, tt := range []struct {
		name  string
		trip  func(h *httptrace.ClientTrace)
		conn  any
		again any
		want  []string // the phases that take time
	}{
		{"raced", func(h *httptrace.ClientTrace) {
			h.GetConn("")
			dial(h)
			h.GotConn(httptrace.GotConnInfo{})
		}, "new", nil, []string{"dns", "connect", "wait"}},
		{"another's connection came first", func(h *httptrace.ClientTrace) {
			h.GetConn("")
			dial(h)
			h.GotConn(httptrace.GotConnInfo{Reused: true})
		}, "queued", nil, []string{"acquire", "wait"}},
		{"a dead connection", func(h *httptrace.ClientTrace) {
			h.GetConn("")
			h.GotConn(httptrace.GotConnInfo{Reused: true, WasIdle: true})
			h.WroteRequest(httptrace.WroteRequestInfo{})
			time.Sleep(pause)
			h.GetConn("")
			dial(h)
			h.GotConn(httptrace.GotConnInfo{})
		}, "new", 1, []string{"acquire", "dns", "connect", "wait"}},
	} {
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			late = httptrace.ContextClientTrace(r.Context())
			tt.trip(late)
			late.WroteRequest(httptrace.WroteRequestInfo{})
			time.Sleep(pause)
			late.GotFirstResponseByte()
			return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
		})
		all := traced(t, func(ctx context.Context) {
			if _, err := get(ctx, tracing.NewTransport(base, tracing.Off()), "http://api.example.org/"); err != nil {
				t.Error(err)
			}
			dial(late)
		})
		data := all[0].Data
		var slow []string
		for _, phase := range []string{"acquire", "dns", "connect", "tls", "send", "wait", "body"} {
			if ms, _ := data["http.phase."+phase+"_ms"].(float64); ms >= float64(pause.Milliseconds()) {
				slow = append(slow, phase)
			}
		}
		if diff := cmp.Diff(tt.want, slow); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%v", tt.name, diff, data)
		}
		if data["http.connection"] != tt.conn || data["http.request.resend_count"] != tt.again {
			t.Errorf("%s: the request says %v", tt.name, data)
		}
	}
}
