package middleware_test

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/middleware"
	"github.com/twinpath/twinpath/tracing"
)

// TestWebSocket opens one, and exchanges messages when its request's transaction
// has been sent.
func TestWebSocket(t *testing.T) {
	t.Parallel()
	r, e := sentrytest.New(t, nil), quietEcho()
	e.Use(middleware.Sentry())
	e.GET("/ws/:id", func(c echo.Context) error {
		conn, rw, err := upgrade(c)
		if err != nil {
			return err
		}
		defer conn.Close()
		for {
			message, err := readFrame(rw.Reader)
			if err != nil {
				return nil
			}
			tx := tracing.Continue(c.Request().Context(), "ws message", sentry.WithOpName("websocket.server"))
			writeFrame(rw.Writer, strings.ToUpper(message))
			_ = rw.Flush()
			tx.Finish()
		}
	})
	server := httptest.NewServer(r.On(e))
	defer server.Close()
	conn, rw := dialWebSocket(t, server, "/ws/7")
	defer conn.Close()

	eventually(t, func() bool { return len(r.Transactions()) == 1 })
	event := r.One(t) // while the connection is open
	if event.Transaction != "GET /ws/:id" || data(event)["http.response.status_code"] != 101 || status(event) != "ok" {
		t.Errorf("%s: %v, %s", event.Transaction, data(event), status(event))
	}
	for i := range 2 {
		writeMasked(rw.Writer, "hello")
		if err := rw.Flush(); err != nil {
			t.Fatal(err)
		}
		if answer, err := readFrame(rw.Reader); err != nil || answer != "HELLO" {
			t.Fatalf("answer %q, %v", answer, err)
		}
		eventually(t, func() bool { return len(r.Transactions()) == 2+i })
	}
	for _, message := range r.Transactions()[1:] {
		trace := message.Contexts["trace"]
		if message.Transaction != "ws message" || trace["trace_id"] != event.Contexts["trace"]["trace_id"] || trace["parent_span_id"] != event.Contexts["trace"]["span_id"] {
			t.Errorf("%s: %v", message.Transaction, trace)
		}
	}
}

// upgrade and the functions below are as much of RFC 6455 as two messages take.
func upgrade(c echo.Context) (net.Conn, *bufio.ReadWriter, error) {
	if !strings.EqualFold(c.Request().Header.Get("Upgrade"), "websocket") {
		return nil, nil, echo.NewHTTPError(http.StatusUpgradeRequired)
	}
	sum := sha1.Sum([]byte(c.Request().Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	conn, rw, err := c.Response().Hijack()
	if err != nil {
		return nil, nil, err
	}
	fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(sum[:]))
	return conn, rw, rw.Flush()
}

func dialWebSocket(t *testing.T, server *httptest.Server, target string) (net.Conn, *bufio.ReadWriter) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	rw := bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn))
	fmt.Fprintf(rw, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", target)
	if err := rw.Flush(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(rw.Reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Fatalf("handshake: %s, %v", resp.Status, resp.Header)
	}
	return conn, rw
}

func writeFrame(w *bufio.Writer, text string) {
	_, _ = w.Write([]byte{0x81, byte(len(text))})
	_, _ = w.WriteString(text)
}

func writeMasked(w *bufio.Writer, text string) {
	mask := [4]byte{1, 2, 3, 4}
	_, _ = w.Write([]byte{0x81, 0x80 | byte(len(text))})
	_, _ = w.Write(mask[:])
	for i := range len(text) {
		_ = w.WriteByte(text[i] ^ mask[i%4])
	}
}

func readFrame(r *bufio.Reader) (string, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return "", err
	}
	var mask [4]byte
	if head[1]&0x80 != 0 {
		if err := binary.Read(r, binary.BigEndian, &mask); err != nil {
			return "", err
		}
	}
	text := make([]byte, head[1]&0x7f)
	_, err := io.ReadFull(r, text)
	for i := range text {
		text[i] ^= mask[i%4]
	}
	return string(text), err
}

// TestConnectionTakenOver has the other ways to answer by oneself.
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
		events  int
	}{
		{"upgrade", true, func(c echo.Context) error { return takeOver(c, switching) }, 101, "ok", 0},
		{"past Echo", true, func(c echo.Context) error {
			conn, rw, err := c.Response().Writer.(http.Hijacker).Hijack()
			if err != nil {
				return err
			}
			defer conn.Close()
			_, _ = rw.WriteString(switching)
			return rw.Flush()
		}, 101, "ok", 0},
		{"without an upgrade", false, func(c echo.Context) error { return takeOver(c, "HTTP/1.1 204 No Content\r\n\r\n") }, nil, "ok", 0},
		{"an error afterwards", true, func(c echo.Context) error { return errors.Join(takeOver(c, switching), errDomain) }, 101, "ok", 1},
		{"a panic afterwards", true, func(c echo.Context) error {
			_ = takeOver(c, switching)
			panic("boom")
		}, 101, "ok", 1},
		{"an upgrade that is refused", true, func(c echo.Context) error { return c.NoContent(426) }, 426, "invalid_argument", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, e := sentrytest.New(t, nil), quietEcho()
			e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
				return func(c echo.Context) error {
					defer func() { _ = recover() }()
					return next(c)
				}
			}, middleware.SentryWithConfig(middleware.SentryConfig{CaptureErrors: true}))
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
			eventually(t, func() bool { return len(r.Transactions()) == 1 && len(r.Errors()) == tt.events })
			event := r.One(t)
			if data(event)["http.response.status_code"] != tt.code || status(event) != tt.status {
				t.Errorf("%v, %s; want %v, %s", data(event), status(event), tt.code, tt.status)
			}
		})
	}
}

// TestStreams has answers that are sent bit by bit. Each handler goes on when the
// client has said so, which it does when it has the first bit.
func TestStreams(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		contentType string
		code        int
		early       bool // sent while the stream goes on
		http2       bool
	}{
		{"event stream", "text/event-stream", 200, true, false},
		{"event stream with a charset", "text/event-stream; charset=utf-8", 200, true, false},
		{"event stream over HTTP/2", "text/event-stream", 200, true, true},
		{"event stream that fails at once", "text/event-stream", 503, true, false},
		{"lines", "application/x-ndjson", 200, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, e := sentrytest.New(t, nil), quietEcho()
			more := make(chan struct{})
			e.Use(middleware.Sentry())
			e.GET("/s", func(c echo.Context) error {
				c.Response().Header().Set(echo.HeaderContentType, tt.contentType)
				c.Response().WriteHeader(tt.code)
				for _, bit := range []string{"data: 1\n\n", "data: 2\n\n"} {
					if _, err := c.Response().Write([]byte(bit)); err != nil {
						return err
					}
					c.Response().Flush()
					<-more
				}
				return nil
			})
			server := httptest.NewUnstartedServer(r.On(e))
			server.EnableHTTP2 = tt.http2
			server.StartTLS()
			defer server.Close()
			resp, err := server.Client().Get(server.URL + "/s")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body := bufio.NewReader(resp.Body)
			if line, err := body.ReadString('\n'); err != nil || line != "data: 1\n" {
				t.Fatalf("got %q, %v", line, err)
			}
			if tt.early {
				eventually(t, func() bool { return len(r.Transactions()) == 1 })
			} else if n := len(r.Transactions()); n != 0 {
				t.Errorf("%d transactions while the stream goes on", n)
			}
			close(more)
			rest, err := io.ReadAll(body)
			if err != nil || string(rest) != "\ndata: 2\n\n" {
				t.Errorf("then %q, %v", rest, err)
			}
			eventually(t, func() bool { return len(r.Transactions()) == 1 })
			server.Close()
			if event := r.One(t); resp.StatusCode != tt.code || data(event)["http.response.status_code"] != tt.code || status(event) != sentry.HTTPtoSpanStatus(tt.code).String() {
				t.Errorf("the client got %d, the trace has %v, %s", resp.StatusCode, data(event), status(event))
			}
		})
	}
}
