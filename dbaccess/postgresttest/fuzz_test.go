package postgresttest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

const delay = 100 * time.Millisecond

// No request, however odd, breaks the handler or reaches Postgres as SQL that it
// can't read: that would be text that had slipped out of its quotes.
func FuzzHandler(f *testing.F) {
	db := pgtest.Golden(f)
	h, err := postgresttest.NewHandler(postgresttest.Config{DSN: db.DirectDSN, JWTSecret: secret, Schemas: []string{"public", "private_api"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(h.Close)
	f.Add("GET", "companies", "select=ticker&ticker=eq.T05", "Prefer", "count=exact", "")
	f.Add("HEAD", `Odd Table`, `select="quote\"col"&or=("a,b".eq."x\"",id.in.(1,"2"))`, "Range", "2-1", "")
	f.Add("POST", "rpc/add_them", "columns=a", "Content-Profile", "private_api", `{"a":1}`)
	f.Add("GET", `x";drop table companies;--`, "select=a->>b::text&order=a.desc.nullslast&limit=99999999999999999999", "Authorization", "Bearer a.b.c", "")
	f.Add("GET", "companies", "ticker=like(any).{a,b}&select=name:ticker&select=*", "Prefer", "timezone=UTC, handling=strict", "")
	f.Add("POST", "watchlist_items", `columns="ticker",position&select=ticker,companies!inner(name)&on_conflict=ticker`, "Prefer", "return=representation, resolution=merge-duplicates, missing=default", `[{"ticker":"T01"}]`)
	f.Add("PATCH", "companies", "and=(name.fts(english).x,not.or(ticker.eq.a))&select=sectors(*,companies(ticker))&sectors.order=id", "Prefer", "handling=strict, max-affected=2", `{"name":"n"}`)
	f.Fuzz(func(t *testing.T, method, path, query, name, value, body string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost/", strings.NewReader(body))
		if err != nil || method == "" {
			return // net/http would not take it off the wire either
		}
		r.URL.Path, r.URL.RawQuery = "/"+path, query
		r.URL.RawPath = (&url.URL{Path: r.URL.Path}).EscapedPath()
		r.Header[http.CanonicalHeaderKey(name)] = []string{value}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code < 200 || w.Code > 599 {
			t.Fatalf("status %d", w.Code)
		}
		if r.Method == http.MethodHead {
			if w.Body.Len() > 0 {
				t.Error("a body for HEAD")
			}
			return
		}
		if w.Body.Len() == 0 && (w.Code == http.StatusNoContent || w.Code == http.StatusCreated) {
			return
		}
		var v any
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
			t.Fatalf("status %d, the body is not JSON: %q", w.Code, w.Body.String())
		}
		if e, ok := v.(map[string]any); ok && e["code"] == "42601" {
			t.Errorf("Postgres could not read the statement: %v", e["message"])
		}
	})
}
