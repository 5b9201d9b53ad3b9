package secrets_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/middleware"
)

// TestNothingIsShown plants secrets in all that the module takes and drives it
// through every way in which a call ends, on both paths.
func TestNothingIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site := httptest.NewUnstartedServer(w.app())
	site.Config.ErrorLog = nil
	site.Start()
	t.Cleanup(site.Close)
	token, err := w.signer.Sign(t.Context(), w.who())
	if err != nil {
		t.Fatal(err)
	}
	w.secret(token)

	for _, path := range []string{"rest", "direct"} {
		for i := range kinds {
			k := &kinds[i]
			status, body := w.request(t, site.URL+"/do/"+strings.ReplaceAll(k.name, " ", "%20")+"/"+canary+"-param?q="+canary+"-query", http.Header{
				"Authorization": {"Bearer " + token}, middleware.DefaultAccessPathHeader: {path},
			})
			if (status < 400) != k.fine {
				t.Errorf("%s over %s: status %d: %s", k.name, path, status, body)
			}
		}
	}
	w.refusals(t, site.URL)
	w.pages(t)
	w.done()
}

// app is an application with all of the middleware.
func (w *world) app() http.Handler {
	e := echo.New()
	e.HideBanner = true
	e.Logger.SetOutput(&w.logs)
	e.Use(
		echomiddleware.RequestLoggerWithConfig(echomiddleware.RequestLoggerConfig{
			LogStatus: true, LogError: true, LogRoutePath: true, HandleError: true,
			LogValuesFunc: func(_ echo.Context, v echomiddleware.RequestLoggerValues) error {
				w.log.Info("request", "route", v.RoutePath, "status", v.Status, "err", v.Error)
				return nil
			},
		}),
		echomiddleware.RecoverWithConfig(echomiddleware.RecoverConfig{LogErrorFunc: func(_ echo.Context, err error, stack []byte) error {
			w.log.Error("panic", "err", err, "stack", string(stack))
			return err
		}}),
		middleware.Sentry(), middleware.Errors(),
	)
	inside := []echo.MiddlewareFunc{
		middleware.Identity(w.signer),
		middleware.AccessPathWithConfig(middleware.AccessPathConfig{DB: w.fine, Allow: func(echo.Context) bool { return true }}),
	}
	e.POST("/do/:kind/:param", w.handle, inside...)
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		e.ServeHTTP(rw, r.WithContext(sentry.SetHubOnContext(r.Context(), w.hub.Clone())))
	})
}

// handle runs a kind of call and looks at its error.
func (w *world) handle(c echo.Context) error {
	for i := range kinds {
		k := &kinds[i]
		if k.name != c.Param("kind") {
			continue
		}
		where := k.name + " over " + c.Request().Header.Get(middleware.DefaultAccessPathHeader)
		err := k.ask(c.Request().Context(), w)
		w.failure(where, err)
		sentry.GetHubFromContext(c.Request().Context()).CaptureException(err)
		w.expect(where, k, err)
		if err != nil {
			return err
		}
		return c.NoContent(http.StatusNoContent)
	}
	return echo.ErrNotFound
}

// expect checks that a kind is what it is meant to be, so that it proves
// something.
func (w *world) expect(where string, k *kind, err error) {
	w.Helper()
	if (err == nil) != k.fine {
		w.Errorf("%s: error %v", where, err)
	}
	e, ok := errors.AsType[*dbaccess.Error](err)
	switch {
	case err == nil:
	case !ok:
		w.Errorf("%s: error is a %T", where, err)
	case k.code != "" && e.Code != k.code:
		w.Errorf("%s: code %q, want %q: %v", where, e.Code, k.code, e)
	case k.says && !holds(e.Message()+e.Detail()+e.Hint()):
		w.Errorf("%s: the server's words have no secret, so nothing is proved: %q %q %q", where, e.Message(), e.Detail(), e.Hint())
	}
}

// refusals are requests that never get to a call.
func (w *world) refusals(t *testing.T, site string) {
	t.Helper()
	other, err := jwt.NewHS256(jwt.Config{Secret: []byte(jwtSecret + "-other"), Lifetime: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.Sign(t.Context(), w.who())
	if err != nil {
		t.Fatal(err)
	}
	w.secret(foreign)
	good, err := w.signer.Sign(t.Context(), w.who())
	if err != nil {
		t.Fatal(err)
	}
	w.secret(good)
	for name, authorization := range map[string][]string{
		"no token":         {"Bearer " + canary},
		"three parts":      {"Bearer " + canary + "." + canary + "." + canary},
		"another's":        {"Bearer " + foreign},
		"a changed one":    {"Bearer " + good[:len(good)-3] + "AAA"},
		"two":              {"Bearer " + good, "Bearer " + canary},
		"with a remainder": {"Bearer " + good + " " + canary},
		"quotes":           {`Bearer "` + canary + `"`},
		"for nobody":       {"Bearer "},
	} {
		status, body := w.request(t, site+"/do/read/x?q="+canary, http.Header{"Authorization": authorization})
		if status != http.StatusUnauthorized {
			t.Errorf("%s: status %d: %s", name, status, body)
		}
	}
	w.indiscreetVerifier(t)
	for _, token := range []string{canary, foreign, canary + "." + canary + ".", ""} {
		_, err := w.signer.Verify(t.Context(), token)
		if err == nil {
			t.Errorf("a token that is none is accepted")
		}
		w.failure("verify", err)
	}
	// A token that PostgREST refuses.
	for _, db := range []*dbaccess.DB{w.fine} {
		id := w.who()
		id.Token = foreign
		ctx := dbaccess.WithDecision(auth.With(t.Context(), id), dbaccess.Decision{Path: dbaccess.REST})
		_, err := dbaccess.JSON(ctx, db, shelf())
		if !errors.Is(err, dbaccess.ErrUnauthorized) {
			t.Errorf("another's token: error %v", err)
		}
		w.failure("another's token", err)
	}
}

// indiscreetVerifier is one of the application's own. What it says is for the
// application's log, but not for strangers.
func (w *world) indiscreetVerifier(t *testing.T) {
	t.Helper()
	e := echo.New()
	e.Logger.SetOutput(io.Discard)
	e.POST("/who/am/i", func(c echo.Context) error { return c.NoContent(http.StatusOK) }, middleware.Identity(indiscreet{}))
	srv := httptest.NewServer(e)
	defer srv.Close()
	if status, body := w.request(t, srv.URL+"/who/am/i", http.Header{"Authorization": {"Bearer " + canary}}); status != http.StatusServiceUnavailable {
		t.Errorf("an indiscreet verifier: status %d: %s", status, body)
	}
}

// pages are those that show what the module has measured.
func (w *world) pages(t *testing.T) {
	t.Helper()
	h := w.report.Handler(func(*http.Request) bool { return true })
	for _, format := range []string{"json", "text"} {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?format="+format, nil))
		body := rec.Body.String()
		w.search("the report as "+format, body)
		if rec.Code != http.StatusOK || !strings.Contains(body, "shelf") {
			t.Errorf("the report as %s: status %d, %s", format, rec.Code, body)
		}
	}
	if b, err := json.Marshal(w.report.Report()); err != nil || holds(string(b)) {
		t.Errorf("the report: %s, %v", b, err)
	}
}

// request sends a request full of secrets, and looks at the answer.
func (w *world) request(t *testing.T, target string, header http.Header) (status int, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader([]byte(`{"body":"`+value+`"}`)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	req.Header.Set("Cookie", "session="+canary+"-cookie")
	req.Header.Set("X-Tenant", canary+"-header")
	req.Header.Set("Apikey", apiKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	w.answer(target[strings.LastIndex(target[:strings.LastIndex(target, "/")], "/"):], resp, string(b))
	return resp.StatusCode, string(b)
}
