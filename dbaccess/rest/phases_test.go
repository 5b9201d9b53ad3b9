package rest_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

const delay = 30 * time.Millisecond

func names(phases []dbaccess.Phase) string {
	var n []string
	for _, p := range phases {
		n = append(n, p.Name)
	}
	return strings.Join(n, " ")
}

// checkContiguous fails the test unless the phases cover the call from start on
// without gaps.
func checkContiguous(t *testing.T, res *dbaccess.Result, start, end time.Time) {
	t.Helper()
	if len(res.Phases) == 0 {
		t.Fatal("no phases")
	}
	at := res.Phases[0].Start
	if at.Before(start) {
		t.Errorf("the first phase begins %v before the call", start.Sub(at))
	}
	for _, p := range res.Phases {
		if !p.Start.Equal(at) {
			t.Errorf("phase %s begins %v after the one before it ended", p.Name, p.Start.Sub(at))
		}
		if p.Duration < 0 {
			t.Errorf("phase %s lasts %v", p.Name, p.Duration)
		}
		at = p.Start.Add(p.Duration)
	}
	if at.After(end) {
		t.Errorf("the last phase ends %v after the call", at.Sub(end))
	}
}

// phase returns the phase of a name.
func phase(t *testing.T, phases []dbaccess.Phase, name string) dbaccess.Phase {
	t.Helper()
	for _, p := range phases {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no phase %s among %q", name, names(phases))
	return dbaccess.Phase{}
}

// do makes a call and checks that its phases are contiguous.
func do(t *testing.T, ctx context.Context, b *rest.Backend) (*dbaccess.Result, error) {
	t.Helper()
	start := time.Now()
	res, err := b.Do(ctx, call(query.From("t")))
	if res == nil {
		t.Fatalf("no result: %v", err)
	}
	checkContiguous(t, res, start, time.Now())
	return res, err
}

func TestPhasesOfNewAndIdleConnections(t *testing.T) {
	t.Parallel()
	b := backend(t, rows)
	for i, want := range []struct {
		phases string
		conn   dbaccess.ConnClass
	}{
		{"prepare connect send wait body", dbaccess.ConnNew},
		{"prepare send wait body", dbaccess.ConnIdle},
	} {
		res, err := do(t, t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(res.Phases); got != want.phases || res.Conn != want.conn {
			t.Errorf("call %d: %q on a connection %q, want %q on %q", i, got, res.Conn, want.phases, want.conn)
		}
	}
}

// A delay anywhere is in exactly one phase.
func TestDelaysLandInTheirPhase(t *testing.T) {
	t.Parallel()
	slowTLS := func(*tls.ClientHelloInfo) (*tls.Config, error) {
		time.Sleep(delay)
		return nil, nil
	}
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		dial    time.Duration
		tls     func(*tls.ClientHelloInfo) (*tls.Config, error)
		config  func(*rest.Config)
		fails   bool
		want    string
		phases  string
	}{
		"signer": {
			handler: rows, config: func(c *rest.Config) { c.Signer, c.AnonRole = slowSigner{}, "nobody" },
			want: dbaccess.PhasePrepare, phases: "prepare connect send wait body",
		},
		"dial": {handler: rows, dial: delay, want: dbaccess.PhaseConnect, phases: "prepare connect send wait body"},
		"TLS":  {handler: rows, tls: slowTLS, want: dbaccess.PhaseTLS, phases: "prepare connect tls send wait body"},
		"server": {
			handler: func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(delay)
				rows(w, r)
			},
			want: dbaccess.PhaseWait, phases: "prepare connect send wait body",
		},
		"body": {
			handler: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(200)
				w.(http.Flusher).Flush()
				time.Sleep(delay)
				_, _ = io.WriteString(w, "[]")
			},
			want: dbaccess.PhaseBody, phases: "prepare connect send wait body",
		},
		"body of an error": {
			handler: func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(500)
				w.(http.Flusher).Flush()
				time.Sleep(delay)
				_, _ = io.WriteString(w, "oops")
			},
			fails: true,
			want:  dbaccess.PhaseBody, phases: "prepare connect send wait body",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := rest.Config{URL: "http://postgrest.test"}
				transport := pipeTransport(t, tt.handler, tt.tls)
				if tt.tls != nil {
					cfg.URL = "https://postgrest.test"
				}
				dial := transport.DialContext
				transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
					time.Sleep(tt.dial)
					return dial(ctx, network, addr)
				}
				cfg.Transport = transport
				if tt.config != nil {
					tt.config(&cfg)
				}
				b, err := rest.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				res, err := do(t, t.Context(), b)
				if (err != nil) != tt.fails {
					t.Fatal(err)
				}
				if got := names(res.Phases); got != tt.phases {
					t.Errorf("phases = %q, want %q", got, tt.phases)
				}
				for _, p := range res.Phases {
					want := time.Duration(0)
					if p.Name == tt.want {
						want = delay
					}
					if p.Duration != want {
						t.Errorf("phase %s lasts %v, want %v", p.Name, p.Duration, want)
					}
				}
			})
		})
	}
}

// pipeTransport connects to a server on pipes, so that a synctest bubble's clock
// is theirs. Both end with the test.
func pipeTransport(t *testing.T, h http.Handler, hello func(*tls.ClientHelloInfo) (*tls.Config, error)) *http.Transport {
	t.Helper()
	pipes := newPipeListener()
	srv := httptest.NewUnstartedServer(h)
	if err := srv.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	srv.Listener = pipes
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		pipes.conns <- server
		return client, nil
	}}
	if hello != nil {
		srv.TLS = &tls.Config{GetConfigForClient: hello}
		srv.StartTLS()
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // a pipe has no name to verify
	} else {
		srv.Start()
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		srv.Close()
	})
	return transport
}

// pipeListener accepts what is sent to it.
type pipeListener struct {
	conns chan net.Conn
	close func()
}

func newPipeListener() pipeListener {
	conns := make(chan net.Conn)
	return pipeListener{conns, sync.OnceFunc(func() { close(conns) })}
}

func (l pipeListener) Accept() (net.Conn, error) {
	c, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l pipeListener) Close() error {
	l.close()
	return nil
}

func (l pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// The phase that a call failed in lasts until the failure.
func TestPhasesOfFailures(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := "http://" + closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	hang := backendURL(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	unknown := &http.Transport{DialContext: (&net.Dialer{Resolver: noSuchHost()}).DialContext}
	for name, tt := range map[string]struct {
		url       string
		transport http.RoundTripper
		want      string
	}{
		"refused":      {refused, nil, "prepare connect"},
		"unknown host": {"http://nowhere.invalid", unknown, "prepare dns"},
		"no answer":    {hang, nil, "prepare connect send wait"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := rest.New(rest.Config{URL: tt.url, Transport: tt.transport})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close(context.Background())
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			res, err := do(t, ctx, b)
			if err == nil {
				t.Fatal("no error")
			}
			if got := names(res.Phases); got != tt.want {
				t.Errorf("phases = %q, want %q (%v)", got, tt.want, err)
			}
		})
	}
}

// noSuchHost answers every question with NXDOMAIN.
func noSuchHost() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
	}}
}

// What a kept connection that had died cost is acquire's.
func TestDiedConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	var conns atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(rows))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	// The second request on a connection finds it closed.
	first := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &dyingConn{Conn: c}, err
	}}
	defer first.CloseIdleConnections()
	b, err := rest.New(rest.Config{URL: srv.URL, Transport: first})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := do(t, t.Context(), b); err != nil {
		t.Fatal(err)
	}
	res, err := do(t, t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(res.Phases), "prepare acquire connect send wait body"; got != want || res.Conn != dbaccess.ConnNew {
		t.Errorf("phases = %q on a connection %q, want %q on a new one", got, res.Conn, want)
	}
	if n := conns.Load(); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
}

// dyingConn breaks at the second request.
type dyingConn struct {
	net.Conn
	writes atomic.Int64
}

func (c *dyingConn) Write(b []byte) (int, error) {
	if c.writes.Add(1) > 1 {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

func TestServerTiming(t *testing.T) {
	t.Parallel()
	const ours = "jwt;dur=1.0, parse;dur=0.5, plan;dur=0.0, transaction;dur=6.0, response;dur=0.5"
	all := map[string]time.Duration{
		"postgrest.jwt": time.Millisecond, "postgrest.parse": time.Millisecond / 2, "postgrest.plan": 0,
		"postgrest.transaction": 6 * time.Millisecond, "postgrest.response": time.Millisecond / 2,
	}
	for name, tt := range map[string]struct {
		server, configured, timing string
		want                       map[string]time.Duration
	}{
		"new enough":          {server: "postgrest/14.2", timing: ours, want: all},
		"newer":               {server: "postgrest/16.0", timing: ours, want: all},
		"with a commit":       {server: "postgrest/14.17 (abcdef1)", timing: ours, want: all},
		"too old":             {server: "postgrest/14.1", timing: ours},
		"much too old":        {server: "postgrest/12.2.12", timing: ours},
		"hidden":              {server: "cloudflare", timing: ours},
		"hidden but known":    {server: "cloudflare", configured: "14.2", timing: ours, want: all},
		"known to be old":     {server: "postgrest/16.0", configured: "13.0", timing: ours},
		"with a gateway's":    {server: "postgrest/14.2", timing: "cfL4;dur=3, transaction;dur=6.0, cdn;desc=x", want: map[string]time.Duration{"postgrest.transaction": 6 * time.Millisecond}},
		"a gateway's alone":   {server: "postgrest/14.2", timing: "cfL4;dur=3"},
		"longer than it took": {server: "postgrest/14.2", timing: "transaction;dur=60000.0"},
		"no number":           {server: "postgrest/14.2", timing: "transaction;dur=NaN"},
		"negative":            {server: "postgrest/14.2", timing: "transaction;dur=-1"},
		"twice":               {server: "postgrest/14.2", timing: "jwt;dur=1, jwt;dur=1"},
		"none":                {server: "postgrest/14.2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := backend(t, func(w http.ResponseWriter, r *http.Request) {
				time.Sleep(delay)
				w.Header().Set("Server", tt.server)
				if tt.timing != "" {
					w.Header().Set("Server-Timing", tt.timing)
				}
				rows(w, r)
			}, func(c *rest.Config) { c.ServerVersion = tt.configured })
			res, err := do(t, t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			wait := phase(t, res.Phases, dbaccess.PhaseWait)
			var got map[string]time.Duration
			at := time.Time{}
			for _, c := range wait.Children {
				if got == nil {
					got, at = map[string]time.Duration{}, c.Start
				}
				got[c.Name] = c.Duration
				if !c.Placed || !c.Start.Equal(at) {
					t.Errorf("%s: placed = %v, begins %v after the one before ended", c.Name, c.Placed, c.Start.Sub(at))
				}
				at = c.Start.Add(c.Duration)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("children of %s (-want +got):\n%s", wait.Name, diff)
			}
			if n := len(wait.Children); n > 0 && (wait.Children[0].Start.Before(wait.Start) || at.After(wait.Start.Add(wait.Duration))) {
				t.Error("the children reach beyond their phase")
			}
		})
	}
}
