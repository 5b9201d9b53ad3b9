package rest_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

// A body without end costs a bounded amount of memory, however it is packed.
func TestEndlessBody(t *testing.T) { // not parallel: it counts what is allocated
	const limit = 4 << 20
	spaces := bytes.Repeat([]byte(" "), 1<<20)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(spaces); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	forever := func(w http.ResponseWriter, b []byte) {
		for {
			if _, err := w.Write(b); err != nil {
				return
			}
		}
	}
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   error
	}{
		{"a gigabyte, as announced", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(1<<30))
			forever(w, spaces)
		}, rest.ErrBodyTooLarge},
		{"chunks", func(w http.ResponseWriter, _ *http.Request) { forever(w, spaces) }, rest.ErrBodyTooLarge},
		{"gzip", func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "gzip" {
				t.Errorf("Accept-Encoding is %q", r.Header.Get("Accept-Encoding"))
			}
			w.Header().Set("Content-Encoding", "gzip")
			forever(w, packed.Bytes())
		}, rest.ErrBodyTooLarge},
		{"gzip that isn't", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			forever(w, spaces)
		}, dbaccess.ErrUnavailable},
		{"an error", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			forever(w, spaces)
		}, dbaccess.ErrUnavailable},
		{"a page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			forever(w, spaces)
		}, dbaccess.ErrUnavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := backend(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				tt.answer(w, r)
			}, func(c *rest.Config) { c.MaxBodyBytes = limit })
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := b.Do(t.Context(), call(query.From("t")))
			runtime.ReadMemStats(&after)
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if e := asError(t, err); e.Advice == "" {
				t.Error("no advice")
			}
			// A buffer that doubles until it is full allocates four times that; the server is in this
			// process, too, and sync.Pool forgets at random under the race detector.
			if n := after.TotalAlloc - before.TotalAlloc; n > 20*limit {
				t.Errorf("%d bytes were allocated for a limit of %d", n, limit)
			}
		})
	}
}

// Nesting without end is an error of JSON, in rows as in errors.
func TestEndlessNesting(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 1<<20)
	for name, r := range map[string]reply{
		"rows":  {200, nil, deep + strings.Repeat("]", 1<<20)},
		"error": {500, nil, `{"code":"42P01","message":"m","details":` + deep},
		"cut":   {200, nil, deep + "]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := dbaccess.New(dbaccess.Config{REST: backend(t, r.ServeHTTP), Default: &auth.Identity{Role: "anon"}})
			if err != nil {
				t.Fatal(err)
			}
			type row struct {
				ID  int `db:"id"`
				Doc any `db:"doc"`
			}
			if rows, err := dbaccess.All[row](t.Context(), db, query.From("t")); err == nil {
				t.Errorf("All = %d rows", len(rows))
			}
			if b, err := dbaccess.JSON(t.Context(), db, query.From("t")); err == nil {
				t.Errorf("JSON = %d bytes", len(b))
			}
		})
	}
}

// Headers without end, and bytes that come one by one, end with the limit and with the
// deadline.
func TestEndlessHeaders(t *testing.T) {
	t.Parallel()
	repeat := func(first, part string, pause time.Duration) func(net.Conn) {
		return func(c net.Conn) {
			_, err := io.WriteString(c, first)
			for ; err == nil; time.Sleep(pause) {
				_, err = io.WriteString(c, part)
			}
		}
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for name, tt := range map[string]struct {
		serve func(net.Conn)
		want  error
	}{
		"many":          {repeat(head, "X-A: "+strings.Repeat("a", 1000)+"\r\n", 0), dbaccess.ErrUnavailable},
		"one":           {repeat(head+"X-A: ", strings.Repeat("a", 1000), 0), dbaccess.ErrUnavailable},
		"hints":         {repeat("", "HTTP/1.1 103 Early Hints\r\nLink: "+strings.Repeat("a", 1000)+"\r\n\r\n", 0), dbaccess.ErrUnavailable},
		"the status":    {repeat("HTTP/1.1 2", strings.Repeat("0", 1000), 0), dbaccess.ErrUnavailable},
		"a slow header": {repeat(head+"X-A: ", "a", 10*time.Millisecond), dbaccess.ErrTimeout},
		"a slow body":   {repeat(head+"\r\n[", " ", 10*time.Millisecond), dbaccess.ErrTimeout},
		"a slow chunk":  {repeat(head+"Transfer-Encoding: chunked\r\n\r\nffff\r\n", " ", 10*time.Millisecond), dbaccess.ErrTimeout},
		"a slow gzip":   {repeat(head+"Content-Encoding: gzip\r\nContent-Length: 999\r\n\r\n", "\x1f", 10*time.Millisecond), dbaccess.ErrUnavailable},
		"a trailer":     {repeat(head+"Transfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n", "X-A: "+strings.Repeat("a", 1000)+"\r\n", 0), dbaccess.ErrUnavailable},
		"a slow error":  {repeat("HTTP/1.1 502 Bad Gateway\r\n\r\n", " ", 10*time.Millisecond), dbaccess.ErrUnavailable},
		"a short length": {func(c net.Conn) {
			_, _ = io.WriteString(c, head+"Content-Length: 2\r\nConnection: close\r\n\r\n[{\"id\":1}]")
		}, dbaccess.ErrUnavailable},
		"a length of zero": {func(c net.Conn) {
			_, _ = io.WriteString(c, head+"Content-Length: 0\r\nConnection: close\r\n\r\n[{\"id\":1}]")
		}, dbaccess.ErrUnavailable},
		"no length, cut": {func(c net.Conn) { _, _ = io.WriteString(c, head+"Connection: close\r\n\r\n[{\"id\":1},") }, dbaccess.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := backend(t, func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				tt.serve(conn)
			})
			ctx, cancel := context.WithTimeout(t.Context(), 2*delay)
			if !errors.Is(tt.want, dbaccess.ErrTimeout) && name != "a slow error" {
				cancel() // a loaded machine may take its time
				ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
			}
			defer cancel()
			res, err := b.Do(ctx, call(query.From("t")))
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if e := asError(t, err); e.Advice == "" || res == nil || res.Body != nil {
				t.Errorf("advice %q, result %+v", e.Advice, res)
			}
		})
	}
}

// What the transport keeps to.
func TestTransport(t *testing.T) {
	t.Parallel()
	tr := rest.NewTransport()
	if tr.IdleConnTimeout > 30*time.Second || tr.IdleConnTimeout <= 0 {
		t.Errorf("connections are kept for %v; PostgREST closes them after 35 s", tr.IdleConnTimeout)
	}
	if tr.MaxIdleConnsPerHost != 64 || tr.MaxIdleConns < 64 {
		t.Errorf("%d connections are kept for a host, %d in all, want 64", tr.MaxIdleConnsPerHost, tr.MaxIdleConns)
	}
}

// FuzzWire answers with any bytes. Nothing but a whole list of rows is a success.
func FuzzWire(f *testing.F) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for _, s := range []string{
		head + "Content-Length: 2\r\n\r\n[]", head + "Content-Length: 9\r\n\r\n[]", head + "\r\n[{}", head + "Transfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n",
		"HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: */12\r\n\r\n{\"", "HTTP/1.1 100 Continue\r\n\r\n" + head + "\r\n[]", "HTTP/1.0 204 No Content\r\n\r\n",
		head + "Content-Encoding: gzip\r\n\r\n\x1f\x8b", "HTTP/1.1 502 Bad Gateway\r\nProxy-Status: PostgREST; error=42501\r\n\r\n<html>", "\x00",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() {
				defer server.Close()
				if _, err := http.ReadRequest(bufio.NewReader(server)); err == nil {
					_, _ = server.Write(answer)
				}
			}()
			return client, nil
		}, DisableKeepAlives: true, MaxResponseHeaderBytes: 16 << 10}
		b, err := rest.New(rest.Config{URL: "http://localhost", Transport: transport, MaxBodyBytes: 1 << 16})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		res, err := b.Do(ctx, call(query.From("t")))
		if err == nil {
			if body := bytes.TrimSpace(res.Body); len(body) < 2 || body[0] != '[' || body[len(body)-1] != ']' {
				t.Errorf("success with the body %q", res.Body)
			}
			return
		}
		if e := asError(t, err); len(e.Error()) > 400 || len(e.Message()) > 1<<16 {
			t.Errorf("text of %d bytes, message of %d", len(e.Error()), len(e.Message()))
		}
	})
}
