package measure_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/twinpath/twinpath/example-app/internal/measure"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// TestOtherServers points measure at what is no probe.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	write := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	endless := func(w http.ResponseWriter, _ *http.Request) {
		chunk := bytes.Repeat([]byte("["), 64<<10)
		for range 1 << 14 { // a gigabyte, if anybody reads it
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"web page", write(200, "<!doctype html><h1>hello</h1>"), "web page"},
		{"404", write(404, "404 page not found\n"), "from the same machine alone"},
		{"401", write(401, "{}"), "MEASURE_AUTHORIZATION"},
		{"other JSON", write(200, `{"status":"ok"}`), "not a probe's JSON"},
		{"empty", write(200, ""), "not a probe's JSON"},
		{"null", write(200, "null"), "not a probe's JSON"},
		{"two documents", write(200, `{"mode":"a","queries":[]}{}`), "not a probe's JSON"},
		{"negative time", write(200, `{"mode":"a","queries":[],"server_total_ms":-1}`), "numbers that no probe gives"},
		{"huge time", write(200, `{"mode":"a","queries":[],"server_total_ms":1e300}`), "numbers that no probe gives"},
		{"nested", write(200, strings.Repeat(`{"a":`, 40_000)), "not a probe's JSON"},
		{"gigabyte", endless, "larger than"},
		{"zip bomb", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 64 {
				_, _ = z.Write(make([]byte, 1<<20))
			}
			_ = z.Close()
		}, "larger than"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		}, "redirects are not followed"},
		{"headers", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Large", strings.Repeat("x", 1<<20)) }, "the connection broke"},
		{"hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no answer within 300ms"},
		{"drips", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}, "broke off"},
		{"escapes", write(503, `{"mode":"a","queries":[],"error":{"code":"\u001b[2J","message":"\u001b]0;x\u0007 down\u202e"}}`), "[2J: ]0;x  down"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(tt.handler)
			defer srv.Close()
			targets, err := measure.ParseTargets([]string{"a=" + srv.URL})
			if err != nil {
				t.Fatal(err)
			}
			timeout := 20 * time.Second
			if tt.name == "hangs" || tt.name == "drips" {
				timeout = 300 * time.Millisecond
			}
			res, err := measure.Run(t.Context(), measure.Config{Targets: targets, Rounds: 1, Timeout: timeout})
			if err == nil {
				t.Fatalf("no error: %+v", res.Samples)
			}
			if !errors.Is(err, measure.ErrNothing) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q in it", err, tt.want)
			}
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
				t.Errorf("an error with control characters: %q", err)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	targets, err := measure.ParseTargets([]string{"http://" + addr + "/x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := measure.Run(t.Context(), measure.Config{Targets: targets}); !errors.Is(err, measure.ErrNothing) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("Run() = %v", err)
	}
}

func TestAuthorization(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer canary8315" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"mode":"a","server_total_ms":1,"queries":[]}`)
	}))
	defer srv.Close()
	targets, err := measure.ParseTargets([]string{srv.URL + "/a"})
	if err != nil {
		t.Fatal(err)
	}
	_, rep := run(t, measure.Config{Targets: targets, Rounds: 1, Authorization: "Bearer canary8315"})
	text, err := json.Marshal(rep)
	if err != nil || rep.Modes["a"].N != 1 || strings.Contains(string(text), "canary8315") {
		t.Errorf("%v: %s", err, text)
	}
	err = measure.Config{Targets: []measure.Target{{Name: "a", URL: "http://192.0.2.1/a"}}, Authorization: "Bearer canary8315"}.Validate()
	if err == nil || strings.Contains(err.Error(), "canary8315") || !strings.Contains(err.Error(), "https only") {
		t.Errorf("in the clear: %v", err)
	}
}

// TestHandshakes reads them off the phases of queries that made a connection.
func TestHandshakes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, queries string
		want          float64
	}{
		{"direct", `{"conn":"new","phases":{"acquire":9,"acquire/queue":1,"acquire/connect":8,"acquire/connect/tls":4,"network+pooler":5}},{"conn":"idle","phases":{"acquire":3}}`, 8},
		{"a pool that does not tell", `{"conn":"new","phases":{"acquire":9,"network+pooler":5}}`, 9},
		{"rest", `{"conn":"new","phases":{"dns":1,"connect":2,"tls":4,"send":8,"wait":16}},{"conn":"idle","phases":{"send":32}}`, 7},
		{"queue", `{"conn":"queued","phases":{"acquire":9,"acquire/queue":9}}`, 0},
	} {
		s, failure := measure.ParseAnswer(200, []byte(`{"mode":"a","server_total_ms":50,"queries":[`+tt.queries+`]}`))
		if failure != nil || s.Handshakes != tt.want {
			t.Errorf("%s: %v ms, %v; want %v", tt.name, s.Handshakes, failure, tt.want)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(200, []byte(`{"mode":"rest","server_total_ms":12.5,"client_create_ms":1,"queries":[{"name":"q","ms":1,"rows":1,"conn":"new",`+
		`"phases":{"acquire":1,"acquire/connect":0.5},"layers_ms":{"app":1}}],"layers_ms":{"app":1,"pool":2},"cold":true,"new_connections":1,"idle_ms":null}`))
	f.Add(404, []byte(`{"error":{"code":"not_found","message":"there are latency/ with one of a"}}`))
	f.Add(503, []byte(`{"mode":"a","queries":[],"error":{"code":"x","message":"\u001b[31m"}}`))
	f.Add(200, []byte("<html>"))
	f.Add(302, []byte{})
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		s, failure := measure.ParseAnswer(status, body)
		if failure != nil {
			if failure.Kind == "" || failure.Text == "" || strings.ContainsFunc(failure.Text, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("failure %q: %q", failure.Kind, failure.Text)
			}
			return
		}
		for _, v := range []float64{s.Server, s.ClientCreate, s.Handshakes, s.Layers.App, s.Layers.Pool, s.ProcessAge} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%+v", s)
			}
		}
		s.Mode = "a"
		res := &measure.Result{Config: measure.Config{Targets: []measure.Target{{Name: "a"}}, Shape: measure.Burst}, Samples: []measure.Sample{*s}}
		rep := res.Report()
		if _, err := json.Marshal(rep); err != nil {
			t.Error(err)
		}
		if err := rep.WriteText(io.Discard); err != nil {
			t.Error(err)
		}
	})
}
