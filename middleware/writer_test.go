package middleware_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/middleware"
)

// TestConnectionTakenOver asks a real server, whose handler answers by itself.
func TestConnectionTakenOver(t *testing.T) {
	t.Parallel()
	takeOver := func(c echo.Context, answer string) error {
		conn, rw, err := c.Response().Hijack()
		if err != nil {
			return err
		}
		defer conn.Close()
		_, _ = rw.WriteString(answer)
		return rw.Flush()
	}
	const switching = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
	for _, tt := range []struct {
		name    string
		upgrade bool
		handler echo.HandlerFunc
		code    any
		status  string
		late    bool
	}{
		{"upgrade", true, func(c echo.Context) error { return takeOver(c, switching) }, 101, "ok", false},
		{"without an upgrade", false, func(c echo.Context) error { return takeOver(c, "HTTP/1.1 204 No Content\r\n\r\n") }, nil, "ok", false},
		{"an error afterwards", true, func(c echo.Context) error { return errors.Join(takeOver(c, switching), errDomain) }, 101, "internal_error", true},
		{"a panic afterwards", true, func(c echo.Context) error {
			_ = takeOver(c, switching)
			panic("boom")
		}, 101, "internal_error", true},
		{"an upgrade that is refused", true, func(c echo.Context) error { return c.NoContent(426) }, 426, "invalid_argument", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, e := sentrytest.New(t, nil), quietEcho()
			e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
				return func(c echo.Context) error {
					defer func() { _ = recover() }()
					return next(c)
				}
			}, middleware.Sentry())
			e.HTTPErrorHandler = func(error, echo.Context) {}
			e.GET("/ws", tt.handler)
			server := httptest.NewServer(r.On(e))
			defer server.Close()
			conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			header := "Connection: close\r\n"
			if tt.upgrade {
				header = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
			}
			fmt.Fprintf(conn, "GET /ws HTTP/1.1\r\nHost: x\r\n%s\r\n", header)
			if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool { return len(r.Transactions()) == 1 })
			event := r.One(t)
			if data(event)["http.response.status_code"] != tt.code || status(event) != tt.status || (data(event)["http.response.late_error"] == true) != tt.late {
				t.Errorf("%v, %s; want %v, %s, late %v", data(event), status(event), tt.code, tt.status, tt.late)
			}
		})
	}
}

// TestWriterKeepsItsAbilities holds what is behind c.Response().Writer to what a
// server's writer can do.
func TestWriterKeepsItsAbilities(t *testing.T) {
	t.Parallel()
	r, e := sentrytest.New(t, nil), quietEcho()
	e.Use(middleware.Sentry())
	e.GET("/", func(c echo.Context) error {
		w := c.Response().Writer
		_, flushes := w.(http.Flusher)
		_, reads := w.(io.ReaderFrom)
		_, strings := w.(io.StringWriter)
		_, hijacks := w.(http.Hijacker)
		if !flushes || !reads || !strings || !hijacks {
			t.Errorf("flushes %v, reads %v, writes strings %v, hijacks %v", flushes, reads, strings, hijacks)
		}
		_, _ = c.Response().Write([]byte("a"))
		c.Response().Flush()
		_, _ = io.WriteString(w, "b")
		_, err := w.(io.ReaderFrom).ReadFrom(onlyReader{"c"})
		w.(http.Flusher).Flush()
		return err
	})
	server := httptest.NewServer(r.On(e))
	defer server.Close()
	resp, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || string(body) != "abc" {
		t.Errorf("body %q, %v", body, err)
	}
}

type onlyReader struct{ text string }

func (r onlyReader) Read(p []byte) (int, error) { return copy(p, r.text), io.EOF }
