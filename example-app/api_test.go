package main_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/example-app/internal/stock"
)

// token returns a header with alice's token, good until then.
func token(t *testing.T, expires time.Time) http.Header {
	t.Helper()
	signer, err := jwt.NewHS256(jwt.Config{Secret: []byte(secret)})
	if err != nil {
		t.Fatal(err)
	}
	claims := []byte(`{"sub":"` + stock.Alice + `","exp":` + jsonNumber(expires.Unix()) + `}`)
	tok, err := signer.Sign(context.Background(), auth.Identity{Role: stock.RoleAuthenticated, Claims: claims})
	if err != nil {
		t.Fatal(err)
	}
	return http.Header{"Authorization": {"Bearer " + tok}}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	if a := get(t, "/healthz"); a.status != http.StatusOK {
		t.Errorf("status %d", a.status)
	}
	out := site.output.String()
	for _, want := range []string{"PostgreSQL ", "PgBouncer ", "pool mode transaction", "stand-in", "/traces", site.url, "sent to Spotlight on http://" + spotlight.address} {
		if !strings.Contains(out, want) {
			t.Errorf("the start-up lines have no %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, secret) {
		t.Error("the start-up lines hold the secret")
	}
}

func TestBothPathsAnswerTheSame(t *testing.T) {
	t.Parallel()
	paths := endpoints(t)
	if len(paths) != 9 {
		t.Fatalf("%d endpoints, want nine: %v", len(paths), paths)
	}
	variants := append(paths,
		"/api/stocks/qlit/insider-transactions?kind=buy,gift&since=2026-01-01&until=2026-06-01T00:00:00Z&limit=100",
		"/api/stocks/NRVA/insider-transactions?notable=true&limit=200&insider=a",
		"/api/stocks/NRVA/insider-transactions?insider=%25_%5C%22,()",
		"/api/stocks/NRVA/insider-transactions?min_value=1000000.5",
		"/api/stocks/NRVA/prices?days=730",
		"/api/market/movers?min_change=0.01", "/api/market/movers?min_change=-1",
		"/api/market/large-trades?page=3&size=100&min_value=5000000",
		"/api/market/large-trades?page=9999",
		"/api/insiders/top?limit=100",
	)
	alice := token(t, time.Now().Add(time.Hour))
	for _, header := range []http.Header{nil, alice} {
		for _, p := range variants {
			sep := "?"
			if strings.Contains(p, "?") {
				sep = "&"
			}
			var bodies [2]string
			for i, path := range []string{"rest", "direct"} {
				a := request(t, http.MethodGet, p+sep+"path="+path, "", header.Clone())
				if a.status != http.StatusOK || a.header.Get("X-Access-Path") != path {
					t.Errorf("%s over %s: status %d, path %q: %.200s", p, path, a.status, a.header.Get("X-Access-Path"), a.body)
				}
				bodies[i] = a.body
			}
			if diff := cmp.Diff(bodies[0], bodies[1]); diff != "" {
				t.Errorf("%s (-rest +direct):\n%s", p, diff)
			}
			if len(bodies[0]) < 10 {
				t.Errorf("%s answers next to nothing: %s", p, bodies[0])
			}
		}
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	type rows struct {
		Rows []struct {
			Ticker, Kind string
			Value        *float64
			FiledAt      time.Time `json:"filed_at"`
			Late         bool
			Plan         *string
		}
		Total int64
	}
	a := decode[rows](t, get(t, "/api/stocks/NRVA/insider-transactions?kind=buy&since=2026-05-01&min_value=100000&limit=50"))
	if len(a.Rows) == 0 {
		t.Error("no row")
	}
	for i, r := range a.Rows {
		if r.Ticker != "NRVA" || r.Kind != "buy" || *r.Value < 100000 || r.FiledAt.Before(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("a row that the filters exclude: %+v", r)
		}
		if i > 0 && r.FiledAt.After(a.Rows[i-1].FiledAt) {
			t.Error("rows out of order")
		}
	}
	for _, r := range decode[rows](t, get(t, "/api/stocks/NRVA/insider-transactions?notable=true&limit=50")).Rows {
		if large := r.Value != nil && *r.Value >= 5_000_000; !large && !r.Late && (r.Kind != "sell" || r.Plan != nil) {
			t.Errorf("nothing is notable about %+v", r)
		}
	}
	first := decode[rows](t, get(t, "/api/market/large-trades"))
	past := decode[rows](t, get(t, "/api/market/large-trades?page=9999"))
	if first.Total < 8 || past.Total != first.Total || len(first.Rows) != 8 || len(past.Rows) != 0 {
		t.Errorf("pages: first %d of %d, past the end %d of %d", len(first.Rows), first.Total, len(past.Rows), past.Total)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	const canary = "canary8315"
	huge := strings.Repeat(canary, 1<<20/len(canary))
	large := strings.Repeat(canary, 60_000/len(canary))
	expired := token(t, time.Now().Add(-time.Hour))
	forged := http.Header{"Authorization": {"Bearer " + canary + ".e30.x"}}
	const filings = "/api/stocks/NRVA/insider-transactions"
	for _, tt := range []struct {
		name, path string
		header     http.Header
		status     int
		code       string
	}{
		{"unknown ticker", "/api/stocks/ZZZZ", nil, 404, "unknown_ticker"},
		{"unknown ticker's filings", "/api/stocks/ZZZZ/insider-transactions", nil, 404, "unknown_ticker"},
		{"unknown ticker's prices", "/api/stocks/ZZZZ/prices", nil, 404, "unknown_ticker"},
		{"ticker that can't be", "/api/stocks/" + canary, nil, 404, "unknown_ticker"},
		{"malformed date", filings + "?since=" + canary, nil, 400, "bad_parameter"},
		{"malformed number", filings + "?min_value=" + canary, nil, 400, "bad_parameter"},
		{"number with a leading zero", "/api/market/large-trades?min_value=007", nil, 400, "bad_parameter"},
		{"unknown kind", filings + "?kind=buy," + canary, nil, 400, "bad_parameter"},
		{"limit too high", filings + "?limit=1000000", nil, 400, "bad_parameter"},
		{"negative limit", filings + "?limit=-1", nil, 400, "bad_parameter"},
		{"neither true nor false", filings + "?notable=" + canary, nil, 400, "bad_parameter"},
		{"asterisk in a pattern", filings + "?insider=" + canary + "*", nil, 400, ""},
		{"zero byte", filings + "?insider=%00" + canary, nil, 400, "bad_parameter"},
		{"no UTF-8", filings + "?insider=%ff" + canary, nil, 400, "bad_parameter"},
		{"long value", filings + "?insider=" + large, nil, 400, "bad_parameter"},
		{"long value of an unknown parameter", filings + "?" + canary + "=" + large, nil, 400, "bad_parameter"},
		{"value of a megabyte", filings + "?insider=" + huge, nil, 400, "bad_parameter"},
		{"path that is none", "/api/sectors?path=" + canary, nil, 400, "bad_parameter"},
		{"expired token", "/api/watchlists", expired, 401, auth.CodeTokenClaims},
		{"forged token", "/api/watchlists", forged, 401, auth.CodeTokenInvalid},
		{"no such endpoint", "/api/" + canary, nil, 404, "http"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, path := range []string{"rest", "direct"} {
				p := tt.path
				if !strings.Contains(p, "path=") {
					sep := "?"
					if strings.Contains(p, "?") {
						sep = "&"
					}
					p += sep + "path=" + path
				}
				a := request(t, http.MethodGet, p, "", tt.header.Clone())
				if a.status != tt.status {
					t.Errorf("%s: status %d, want %d: %.300s", path, a.status, tt.status, a.body)
				}
				if strings.Contains(a.body, canary) || strings.Contains(strings.Join(a.header.Values("Www-Authenticate"), ""), canary) {
					t.Errorf("%s: the answer repeats what came in: %.300s", path, a.body)
				}
				if got := decode[struct{ Code, Message string }](t, a); got.Code != tt.code || got.Message == "" {
					t.Errorf("%s: code %q, message %q; want code %q", path, got.Code, got.Message, tt.code)
				}
				if tt.status == 401 && a.header.Get("Www-Authenticate") == "" {
					t.Errorf("%s: no WWW-Authenticate", path)
				}
			}
		})
	}
	t.Cleanup(func() {
		if strings.Contains(site.output.String(), canary) {
			t.Error("the log repeats what came in")
		}
	})
}

func TestUsers(t *testing.T) {
	t.Parallel()
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	for user, want := range map[string]string{
		"anonymous": "Editors' picks", "alice": "Semis and software|Dividend candidates|Editors' picks", "bob": "Energy transition|Editors' picks",
	} {
		a := request(t, http.MethodPost, "/user", url.Values{"user": {user}}.Encode(), form.Clone())
		if a.status != http.StatusSeeOther {
			t.Fatalf("%s: status %d: %s", user, a.status, a.body)
		}
		cookie, err := http.ParseSetCookie(a.header.Get("Set-Cookie"))
		if err != nil {
			t.Fatal(err)
		}
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode {
			t.Errorf("%s: the cookie is open to scripts or to other sites", user)
		}
		header := http.Header{}
		if cookie.Value != "" {
			header.Set("Cookie", cookie.Name+"="+cookie.Value)
		}
		for _, path := range []string{"rest", "direct"} {
			var titles []string
			lists := decode[struct{ Rows []struct{ Title string } }](t, request(t, http.MethodGet, "/api/watchlists?path="+path, "", header.Clone()))
			for _, l := range lists.Rows {
				titles = append(titles, l.Title)
			}
			if got := strings.Join(titles, "|"); got != want {
				t.Errorf("%s over %s sees %q, want %q", user, path, got, want)
			}
		}
		if page := request(t, http.MethodGet, "/", "", header.Clone()); !strings.Contains(page.body, "<option selected>"+user) {
			t.Errorf("the page does not say that %s is signed in", user)
		}
	}
	if a := request(t, http.MethodPost, "/user", "user=mallory", form.Clone()); a.status != http.StatusBadRequest {
		t.Errorf("an unknown user: status %d", a.status)
	}
	foreign := form.Clone()
	foreign.Set("Sec-Fetch-Site", "cross-site")
	if a := request(t, http.MethodPost, "/user", "user=alice", foreign); a.status != http.StatusForbidden {
		t.Errorf("another site's form: status %d", a.status)
	}
}

// TestWatch changes a watchlist over each path and puts it back. It doesn't run beside the tests that
// read watchlists.
func TestWatch(t *testing.T) {
	alice := token(t, time.Now().Add(time.Hour))
	type item struct {
		Ticker string
		Note   *string
		Quote  struct{ Close float64 }
	}
	items := func(path string) (tickers []string) {
		t.Helper()
		for _, l := range decode[struct {
			Rows []struct {
				ID    int
				Items []item
			}
		}](t, request(t, http.MethodGet, "/api/watchlists?path="+path, "", alice.Clone())).Rows {
			if l.ID != 3 {
				continue
			}
			for _, i := range l.Items {
				if i.Quote.Close <= 0 {
					t.Errorf("%s has no price", i.Ticker)
				}
				tickers = append(tickers, i.Ticker)
			}
		}
		return tickers
	}
	expect := func(a answer, status int, code string) {
		t.Helper()
		got := ""
		if status >= 400 {
			got = decode[struct{ Code string }](t, a).Code
		}
		if a.status != status || got != code {
			t.Errorf("status %d, code %q; want %d, %q: %.200s", a.status, got, status, code, a.body)
		}
	}
	before := []string{"WATR", "INSR", "GRDH"}
	for _, path := range []string{"rest", "direct"} {
		post := func(list, body string, header http.Header) answer {
			t.Helper()
			return request(t, http.MethodPost, "/api/watchlists/"+list+"/items?path="+path, body, header.Clone())
		}
		remove := func(list, ticker string, header http.Header) answer {
			t.Helper()
			return request(t, http.MethodDelete, "/api/watchlists/"+list+"/items/"+ticker+"?path="+path, "", header.Clone())
		}
		if diff := cmp.Diff(before, items(path)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", path, diff)
		}
		a := post("3", `{"ticker":"NRVA","note":"über"}`, alice)
		expect(a, http.StatusCreated, "")
		if a.header.Get("X-Access-Path") != path {
			t.Errorf("written over %q, want %s", a.header.Get("X-Access-Path"), path)
		}
		for _, read := range []string{"rest", "direct"} {
			if diff := cmp.Diff(append(before[:3:3], "NRVA"), items(read)); diff != "" {
				t.Errorf("added over %s, read over %s (-want +got):\n%s", path, read, diff)
			}
		}
		expect(post("3", `{"ticker":"NRVA"}`, alice), http.StatusConflict, "23505")
		expect(post("3", `{"ticker":"ZZZZZ"}`, alice), http.StatusConflict, "23503")
		expect(post("4", `{"ticker":"NRVA"}`, alice), http.StatusForbidden, "42501") // bob's
		expect(post("1", `{"ticker":"NRVA"}`, alice), http.StatusForbidden, "42501") // everybody's to read
		for _, body := range []string{"", "{", `{"ticker":"nrva"}`, `{"ticker":1}`, `{"ticker":"NRVA","note":"` + strings.Repeat("x", 101) + `"}`, strings.Repeat(" ", 2000) + `{"ticker":"NRVA"}`} {
			expect(post("3", body, alice), http.StatusBadRequest, "bad_body")
		}
		expect(post("none", `{"ticker":"NRVA"}`, alice), http.StatusNotFound, "unknown_list")
		stranger := post("3", `{"ticker":"NRVA"}`, http.Header{})
		expect(stranger, http.StatusUnauthorized, "42501")
		if stranger.header.Get("WWW-Authenticate") == "" {
			t.Error("no WWW-Authenticate")
		}
		foreign := alice.Clone()
		foreign.Set("Sec-Fetch-Site", "cross-site")
		expect(remove("3", "NRVA", foreign), http.StatusForbidden, "cross_origin")
		expect(remove("4", "SLRW", alice), http.StatusNotFound, "unknown_item")
		expect(remove("3", "nrva", alice), http.StatusNoContent, "")
		expect(remove("3", "NRVA", alice), http.StatusNotFound, "unknown_item")
	}
	if diff := cmp.Diff(before, items("direct")); diff != "" {
		t.Errorf("afterwards (-want +got):\n%s", diff)
	}
}
