package tracing

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// endingBody is an answer's body that tells its end: that it was read, that it
// failed or that it was closed, whichever comes first.
type endingBody struct {
	io.ReadCloser
	size atomic.Int64
	once sync.Once
	end  func(err error, size int64)
}

// onEnd returns resp's body with end called once at its end.
func onEnd(resp *http.Response, end func(err error, size int64)) *endingBody {
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	return &endingBody{ReadCloser: resp.Body, end: end}
}

// Read reads from the body.
func (b *endingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.size.Add(int64(n))
	switch {
	case errors.Is(err, io.EOF):
		b.over(nil)
	case err != nil:
		b.over(err)
	}
	return n, err
}

// Close closes the body. Whoever leaves the rest of it unread has seen enough.
func (b *endingBody) Close() error {
	err := b.ReadCloser.Close()
	b.over(nil)
	return err
}

// over returns when the end has been told, by whomever: a reader must not finish
// its transaction before.
func (b *endingBody) over(err error) {
	b.once.Do(func() { b.end(err, b.size.Load()) })
}
