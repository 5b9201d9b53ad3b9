package middleware

import (
	"bufio"
	"io"
	"mime"
	"net"
	"net/http"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"
)

// watchedWriter sits behind a response and notices what Echo doesn't tell: a
// handler that takes the connection over, or writes past c.Response(). Like every
// http.ResponseWriter it is for one goroutine at a time.
type watchedWriter struct {
	http.ResponseWriter
	x        *exchange
	c        echo.Context // until the handler returns
	status   int          // written past Echo; 0 for none
	hijacked bool
}

var (
	_ http.Flusher    = (*watchedWriter)(nil)
	_ io.ReaderFrom   = (*watchedWriter)(nil)
	_ io.StringWriter = (*watchedWriter)(nil)
	_ http.Hijacker   = hijackable{}
	_ http.Pusher     = pushing{}
)

// hijackable is for connections that can be taken over, and pushing for those
// that HTTP/2 has.
type (
	hijackable struct{ *watchedWriter }
	pushing    struct{ *watchedWriter }
)

// watch puts w into the response's writing. What the server's writer can do, w
// can.
func (w *watchedWriter) watch(x *exchange, c echo.Context) {
	resp := c.Response()
	w.ResponseWriter, w.x, w.c = resp.Writer, x, c
	switch {
	case can[http.Hijacker](resp.Writer):
		resp.Writer = hijackable{w}
	case can[http.Pusher](resp.Writer):
		resp.Writer = pushing{w}
	default:
		resp.Writer = w
	}
}

// can looks where http.ResponseController does.
func can[T any](w http.ResponseWriter) bool {
	for {
		if _, ok := w.(T); ok {
			return true
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = u.Unwrap()
	}
}

// forget ends the watch for what ends a transaction early.
func (w *watchedWriter) forget() { w.c = nil }

// answered says whether the client gets what it gets whatever comes.
func (w *watchedWriter) answered(c echo.Context) bool {
	return w.hijacked || w.status != 0 || c.Response().Committed
}

// statusOf is the answer's status so far, 0 when only the handler knows it.
func (w *watchedWriter) statusOf(c echo.Context) int {
	switch {
	case w.hijacked:
		return switched(c.Request())
	case w.status != 0:
		return w.status
	}
	return c.Response().Status
}

// switched is the status of an answer on a connection that the handler took
// over: known only where the client had asked for another protocol, else 0.
func switched(r *http.Request) int {
	if r.Header.Get(echo.HeaderUpgrade) != "" {
		return http.StatusSwitchingProtocols
	}
	return 0
}

// endEarly ends the transaction of an exchange that may go on for hours.
func (w *watchedWriter) endEarly() {
	if w.c == nil {
		return
	}
	o := w.x.describe(w.c)
	o.code, o.status = w.statusOf(w.c), sentry.SpanStatusOK
	if !w.hijacked {
		o.status = sentry.HTTPtoSpanStatus(o.code)
	}
	w.x.finish(w.c.Request().Context(), o)
	w.c = nil
}

// WriteHeader passes the status on, and keeps the final one.
func (w *watchedWriter) WriteHeader(code int) {
	if w.status == 0 && (code >= http.StatusOK || code == http.StatusSwitchingProtocols) {
		w.status = code
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write passes bytes on.
func (w *watchedWriter) Write(b []byte) (int, error) {
	w.implied()
	return w.ResponseWriter.Write(b)
}

// implied keeps the status that goes with a body which none was written for.
func (w *watchedWriter) implied() {
	if w.status == 0 {
		w.status = http.StatusOK
	}
}

// Hijack hands the connection over.
func (w hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.hijacked = true
		w.endEarly()
	}
	return conn, rw, err
}

// Push passes on what HTTP/2 offers.
func (w pushing) Push(target string, opts *http.PushOptions) error {
	for rw := w.ResponseWriter; ; {
		if p, ok := rw.(http.Pusher); ok {
			return p.Push(target, opts)
		}
		u, ok := rw.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return http.ErrNotSupported
		}
		rw = u.Unwrap()
	}
}

// Unwrap is for http.ResponseController.
func (w *watchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// FlushError is for http.ResponseController.
func (w *watchedWriter) FlushError() error {
	err := http.NewResponseController(w.ResponseWriter).Flush()
	if err == nil {
		w.implied()
		if w.c != nil && isEventStream(w.Header()) {
			w.endEarly()
		}
	}
	return err
}

func isEventStream(h http.Header) bool {
	t, _, err := mime.ParseMediaType(h.Get(echo.HeaderContentType))
	return err == nil && t == "text/event-stream"
}

// Flush is for whoever asks the writer itself, as the next two are.
func (w *watchedWriter) Flush() { _ = w.FlushError() }

// ReadFrom keeps sendfile.
func (w *watchedWriter) ReadFrom(r io.Reader) (int64, error) {
	w.implied()
	return io.Copy(w.ResponseWriter, r)
}

// WriteString saves a copy.
func (w *watchedWriter) WriteString(s string) (int, error) {
	w.implied()
	return io.WriteString(w.ResponseWriter, s)
}
