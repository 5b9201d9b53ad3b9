package middleware_test

import (
	"io"

	"net/http"
	"net/http/httptest"

	"testing"

	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/middleware"
)

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
