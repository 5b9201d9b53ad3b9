package middleware

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/labstack/echo/v4"
)

// watchedWriter notices when a handler takes the connection over: nothing else
// tells such a response from one that was never written.
type watchedWriter struct {
	http.ResponseWriter
	hijacked atomic.Bool
}

var (
	_ http.Hijacker   = (*watchedWriter)(nil)
	_ http.Flusher    = (*watchedWriter)(nil)
	_ io.ReaderFrom   = (*watchedWriter)(nil)
	_ io.StringWriter = (*watchedWriter)(nil)
)

// watch puts w into the response's writing, where the connection can be taken
// over at all: over HTTP/2 it can't.
func (w *watchedWriter) watch(resp *echo.Response) {
	if canHijack(resp.Writer) {
		w.ResponseWriter = resp.Writer
		resp.Writer = w
	}
}

// canHijack looks where http.ResponseController does.
func canHijack(w http.ResponseWriter) bool {
	for {
		if _, ok := w.(http.Hijacker); ok {
			return true
		}
		u, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return false
		}
		w = u.Unwrap()
	}
}

// Hijack hands the connection over.
func (w *watchedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.hijacked.Store(true)
	}
	return conn, rw, err
}

// Unwrap is for http.ResponseController.
func (w *watchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// FlushError is for http.ResponseController.
func (w *watchedWriter) FlushError() error {
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Flush is for whoever asks the writer itself, as the next two are.
func (w *watchedWriter) Flush() { _ = w.FlushError() }

// ReadFrom keeps sendfile.
func (w *watchedWriter) ReadFrom(r io.Reader) (int64, error) { return io.Copy(w.ResponseWriter, r) }

// WriteString saves a copy.
func (w *watchedWriter) WriteString(s string) (int, error) {
	return io.WriteString(w.ResponseWriter, s)
}
