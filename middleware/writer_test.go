package middleware_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/middleware"
)

// abilities are what is behind c.Response().Writer.
type abilities struct{ Flushes, Hijacks, Pushes bool }

func abilitiesOf(w http.ResponseWriter) (a abilities) {
	_, a.Flushes = w.(http.Flusher)
	_, a.Hijacks = w.(http.Hijacker)
	_, a.Pushes = w.(http.Pusher)
	return a
}

// TestWriterKeepsItsAbilities holds what is behind c.Response().Writer to what a
// server's writer can do, no less and no more.
func TestWriterKeepsItsAbilities(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{false, true} {
		r, e := sentrytest.New(t, nil), quietEcho()
		var before, behind abilities
		e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
			return func(c echo.Context) error {
				before = abilitiesOf(c.Response().Writer)
				return next(c)
			}
		}, middleware.Sentry())
		e.GET("/", func(c echo.Context) error {
			w := c.Response().Writer
			behind = abilitiesOf(w)
			if p, ok := w.(http.Pusher); ok { // Go's client takes no pushes
				if err := p.Push("/style.css", nil); err == nil {
					t.Error("pushed to a client that takes none")
				}
			}
			_, _ = c.Response().Write([]byte("a"))
			c.Response().Flush()
			_, _ = io.WriteString(w, "b")
			_, err := w.(io.ReaderFrom).ReadFrom(onlyReader{"c"})
			w.(http.Flusher).Flush()
			return err
		})
		server := httptest.NewUnstartedServer(r.On(e))
		server.EnableHTTP2 = http2
		server.StartTLS()
		resp, err := server.Client().Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != "abc" {
			t.Errorf("body %q, %v", body, err)
		}
		resp.Body.Close()
		server.Close()
		if diff := cmp.Diff(before, behind); diff != "" || resp.ProtoMajor != map[bool]int{false: 1, true: 2}[http2] {
			t.Errorf("%s (-before +behind):\n%s", resp.Proto, diff)
		}
	}
}

type onlyReader struct{ text string }

func (r onlyReader) Read(p []byte) (int, error) { return copy(p, r.text), io.EOF }
