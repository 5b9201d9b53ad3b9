package secrets_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/getsentry/sentry-go"

	"github.com/twinpath/twinpath/dbaccess"
)

// outputs are all the places where a secret must not turn up.
type outputs struct {
	*testing.T
	logs   buffer // of slog, as JSON and as text, and of Echo
	sentry buffer // what a Sentry server got, in plain
	log    *slog.Logger
	hub    *sentry.Hub
	tokens []string // parts of bearer tokens, which are secret as well
}

// buffer may be written to by several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newOutputs(t *testing.T) *outputs {
	t.Helper()
	o := &outputs{T: t}
	o.log = slog.New(slog.NewMultiHandler(slog.NewJSONHandler(&o.logs, &slog.HandlerOptions{Level: slog.LevelDebug}), slog.NewTextHandler(&o.logs, nil)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			body = z
		}
		if _, err := io.Copy(&o.sentry, body); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(server.Close)
	client, err := sentry.NewClient(sentry.ClientOptions{
		Dsn:           strings.Replace(server.URL, "http://", "http://key@", 1) + "/1",
		EnableTracing: true, TracesSampleRate: 1, AttachStacktrace: true,
		Transport:     sentry.NewHTTPSyncTransport(),
		HTTPTransport: &http.Transport{DisableKeepAlives: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	o.hub = sentry.NewHub(client, sentry.NewScope())
	return o
}

// secret remembers a token. Its first part says which algorithm it is of, for
// everybody to know.
func (o *outputs) secret(token string) string {
	for i, part := range strings.Split(token, ".") {
		if i > 0 && len(part) > 12 {
			o.tokens = append(o.tokens, part)
		}
	}
	return token
}

// search looks for secrets in a text.
func (o *outputs) search(where, text string) {
	o.Helper()
	found := holds(text)
	for _, part := range o.tokens {
		found = found || strings.Contains(text, part)
	}
	if found {
		if at := strings.Index(text, canary); at >= 0 && len(text) > 600 {
			text = "…" + text[max(0, at-300):min(len(text), at+300)] + "…"
		}
		o.Errorf("%s shows a secret: %s", where, text)
	}
}

// failure looks at an error in every way that somebody may come to see it.
func (o *outputs) failure(where string, err error) {
	o.Helper()
	if err == nil {
		return
	}
	for how, text := range shown(err) {
		o.search(where+": "+how, text)
	}
	// What error reporters send, which walk the chain.
	for _, e := range chain(err) {
		o.search(where+": a cause's Error", e.Error())
		o.search(where+": a cause", fmt.Sprintf("%v %+v %#v", e, e, e))
	}
	if e, ok := errors.AsType[*dbaccess.Error](err); ok {
		for how, text := range shown(*e) {
			o.search(where+": the copy: "+how, text)
		}
	}
	o.hub.CaptureException(err)
	o.hub.CaptureException(fmt.Errorf("while %s: %w", where, err))
	o.log.Error(where, "err", err, "wrapped", fmt.Errorf("w: %w", err), slog.Group("g", "err", err))
}

// chain is an error and all that errors.Unwrap and its like get at.
func chain(err error) []error {
	all := []error{err}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			all = append(all, chain(inner)...)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			all = append(all, chain(inner)...)
		}
	}
	return all
}

// answer looks at what a client got.
func (o *outputs) answer(where string, r *http.Response, body string) {
	o.Helper()
	header, err := json.Marshal(r.Header)
	if err != nil {
		o.Fatal(err)
	}
	o.search(where+": the answer's header", string(header))
	o.search(where+": the answer", body)
}

// done looks at all that was collected.
func (o *outputs) done() {
	o.Helper()
	o.search("the log", o.logs.String())
	o.search("Sentry", o.sentry.String())
	for name, b := range map[string]*buffer{"the log": &o.logs, "Sentry": &o.sentry} {
		if len(b.String()) < 10_000 {
			o.Errorf("%s has hardly anything: %q", name, b.String())
		}
	}
	if !strings.Contains(o.sentry.String(), `"type":"transaction"`) {
		o.Error("Sentry got no transaction")
	}
}
