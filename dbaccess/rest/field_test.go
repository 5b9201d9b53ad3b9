package rest_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

// The body is not JSON.
//
// Sources: supabase/postgrest-js#282, #646; supabase/supabase#6839, #25820, #27823.
// Must: a typed gateway error with status, content type and the first bytes, bounded; the body
// closed; reads that may be repeated for 502, 503, 504 and 520 to 524.
func TestFieldCaseO21(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status      int
		contentType string
		body        string
		again       bool // a read may be repeated
	}{
		{522, "text/html; charset=UTF-8", "<!DOCTYPE html><title>sesame | 522: Connection timed out</title>" + strings.Repeat("<br>", 1000), true},
		{523, "text/plain", "error code: 523", true},
		{503, "", "", true},
		{200, "text/plain", "upstream connect error or disconnect/reset before headers", true},
		{502, "application/json", `{"message":"An invalid response was received from the upstream server"}`, true},
		{504, "text/html", "<html>", true},
		{520, "text/html", "<html>", true},
		{524, "text/html", "<html>", true},
		{500, "text/html", "<html>", false},
		{400, "text/html", "<html>", false},
	} {
		var requests atomic.Int64
		handler := func(w http.ResponseWriter, _ *http.Request) {
			requests.Add(1)
			w.Header()["Content-Type"] = nil
			if tt.contentType != "" {
				w.Header().Set("Content-Type", tt.contentType)
			}
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		}
		var open atomic.Int64
		transport := rest.NewTransport()
		b := backend(t, handler, func(c *rest.Config) {
			c.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
				resp, err := transport.RoundTrip(r)
				if err == nil {
					open.Add(1)
					resp.Body = &closing{resp.Body, &open}
				}
				return resp, err
			})
		})
		for _, q := range []query.Query{query.From("t").Where(query.Eq("a", "sesame")), insert} {
			writes := mayWrite(q)
			requests.Store(0)
			_, err := b.Do(t.Context(), call(q))
			e := asError(t, err)
			g, ok := errors.AsType[*rest.GatewayError](err)
			if !ok {
				t.Fatalf("status %d: error %v, want a GatewayError in it", tt.status, err)
			}
			media, _, _ := strings.Cut(tt.contentType, ";")
			if g.Status != tt.status || g.ContentType() != media {
				t.Errorf("status %d, type %q; want %d, %q", g.Status, g.ContentType(), tt.status, media)
			}
			text := g.Text()
			if len(text) > 512 || tt.body != "" && (text == "" || !strings.Contains(tt.body, text)) {
				t.Errorf("status %d: text %q of %q", tt.status, text, tt.body)
			}
			if errors.Is(err, dbaccess.ErrUnavailable) != tt.again {
				t.Errorf("status %d: error %v; a read may be repeated: %t", tt.status, err, tt.again)
			}
			if e.OutcomeUnknown != (writes && tt.again) {
				t.Errorf("status %d, write %t: OutcomeUnknown is %t", tt.status, writes, e.OutcomeUnknown)
			}
			if containsAny(texts(t, err)+g.Error(), "sesame", "html", "upstream", "invalid character") {
				t.Errorf("the error tells what came: %s", texts(t, err))
			}
			if n := requests.Load(); n != 1 {
				t.Errorf("status %d: %d requests", tt.status, n)
			}
			if n := open.Load(); n != 0 {
				t.Errorf("status %d: %d bodies are open", tt.status, n)
			}
		}
		transport.CloseIdleConnections()
	}
}

func mayWrite(q query.Query) bool { return q.Spec().Op.Writes() }

// closing counts bodies that are open.
type closing struct {
	io.ReadCloser
	open *atomic.Int64
}

func (c *closing) Close() error {
	c.open.Add(-1)
	return c.ReadCloser.Close()
}
