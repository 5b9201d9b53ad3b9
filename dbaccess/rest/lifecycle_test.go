package rest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

type slowSigner struct{}

func (slowSigner) Sign(context.Context, auth.Identity) (string, error) {
	time.Sleep(delay)
	return "minted", nil
}

func TestContexts(t *testing.T) {
	t.Parallel()
	stop := errors.New("the user left")
	for name, tt := range map[string]struct {
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		timeout time.Duration
		is      []error
		advice  string
	}{
		"deadline": {
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, delay)
			},
			is: []error{dbaccess.ErrTimeout, context.DeadlineExceeded}, advice: "deadline",
		},
		"no deadline": {
			ctx:     func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} },
			timeout: delay,
			is:      []error{dbaccess.ErrTimeout, context.DeadlineExceeded}, advice: "rest.Config.Timeout",
		},
		"cancelled": {
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancelCause(ctx)
				time.AfterFunc(delay, func() { cancel(stop) })
				return ctx, func() { cancel(nil) }
			},
			is: []error{context.Canceled, stop},
		},
		"over before it began": {
			ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return ctx, cancel
			},
			is: []error{context.Canceled},
		},
	} {
		for _, where := range []string{"head", "body"} {
			t.Run(name+" in the "+where, func(t *testing.T) {
				t.Parallel()
				b := backend(t, func(w http.ResponseWriter, r *http.Request) {
					if where == "body" {
						w.Header().Set("Content-Type", "application/json")
						_, _ = io.WriteString(w, "[1,")
						w.(http.Flusher).Flush()
					}
					<-r.Context().Done()
				}, func(c *rest.Config) { c.Timeout = tt.timeout })
				ctx, cancel := tt.ctx(context.WithoutCancel(t.Context()))
				defer cancel()
				res, err := do(t, ctx, b)
				for _, target := range tt.is {
					if !errors.Is(err, target) {
						t.Errorf("errors.Is(%v, %v) = false", err, target)
					}
				}
				if errors.Is(err, dbaccess.ErrUnavailable) {
					t.Error("the error blames the path")
				}
				e := asError(t, err)
				if !containsAny(e.Advice, tt.advice) || e.HTTPStatus != 0 {
					t.Errorf("error = %v, want advice with %q and no status", e, tt.advice)
				}
				if len(res.Body) > 0 {
					t.Error("half of a body was returned")
				}
			})
		}
	}
}

func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"nothing":           "",
		"half a head":       "HTTP/1.1 200 OK\r\nContent-Ty",
		"not HTTP":          "-ERR sesame\r\n\r\n",
		"short body":        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n[{",
		"short chunk":       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n[{",
		"missing last":      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n",
		"length not a word": "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: x\r\n\r\n[]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			var wg sync.WaitGroup
			wg.Go(func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					buf := make([]byte, 4096)
					_, _ = c.Read(buf)
					_, _ = io.WriteString(c, answer)
					_ = c.Close()
				}
			})
			b, err := rest.New(rest.Config{URL: "http://" + l.Addr().String()})
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.Do(t.Context(), call(query.From("t").Where(query.Eq("a", "sesame"))))
			if !errors.Is(err, dbaccess.ErrUnavailable) {
				t.Errorf("error = %v, want ErrUnavailable", err)
			}
			if e := asError(t, err); e.Advice == "" || e.HTTPStatus != 0 {
				t.Errorf("error = %v, want advice and no status", e)
			}
			if containsAny(err.Error(), "sesame") || containsAny(unwrapped(err), "?", "and=") {
				t.Errorf("the error tells the URL: %s", unwrapped(err))
			}
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
			_ = l.Close()
			wg.Wait()
		})
	}
}

// Kept connections serve many callers.
func TestConnectionsAreShared(t *testing.T) {
	t.Parallel()
	const callers, calls = 32, 20
	var conns atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(rows))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	b, err := rest.New(rest.Config{URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range calls {
				if _, err := b.Do(t.Context(), call(query.From("t"))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := conns.Load(); n > 2*callers {
		t.Errorf("%d connections for %d callers", n, callers)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestCloseWaitsForCalls(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	url := backendURL(t, func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-release
		rows(w, r)
	})
	b, err := rest.New(rest.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := b.Do(context.Background(), call(query.From("t")))
		done <- err
	}()
	<-entered

	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Close(over); !errors.Is(err, context.Canceled) {
		t.Errorf("Close with a call running = %v, want the context's error", err)
	}
	_, err = b.Do(t.Context(), call(query.From("t")))
	if !errors.Is(err, dbaccess.ErrClosed) {
		t.Errorf("Do after Close = %v, want ErrClosed", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Errorf("the running call failed: %v", err)
	}
	for range 2 {
		if err := b.Close(t.Context()); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
	if err := b.Close(over); err != nil {
		t.Errorf("Close with nothing running = %v", err)
	}
}

// The caller's own transport is left open.
func TestCloseLeavesTheCallersTransport(t *testing.T) {
	t.Parallel()
	own := &closeCounter{RoundTripper: transportFunc(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("[]")), Request: r}, nil
	})}
	b, err := rest.New(rest.Config{URL: "http://localhost", Transport: own})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Do(t.Context(), call(query.From("t"))); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if own.closed {
		t.Error("the caller's transport was closed")
	}
}

type closeCounter struct {
	http.RoundTripper
	closed bool
}

func (c *closeCounter) CloseIdleConnections() { c.closed = true }
