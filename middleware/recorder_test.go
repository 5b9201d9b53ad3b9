package middleware_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/sentrytest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// data returns the root's attributes, with all statuses as int.
func data(e *sentry.Event) map[string]any {
	d := maps.Clone(sentrytest.RootData(e))
	if code, ok := d["http.response.status_code"].(int64); ok {
		d["http.response.status_code"] = int(code)
	}
	return d
}

func status(e *sentry.Event) string { return sentrytest.RootStatus(e).String() }

// do sends a request whose context ends with it, as a server's does.
func do(tb testing.TB, h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req := httptest.NewRequestWithContext(ctx, method, target, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec
}

func quietEcho() *echo.Echo {
	e := echo.New()
	e.Logger.SetOutput(discard{})
	return e
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
