package corpus

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/internal/parse"
)

// httpWay replays a case as it was recorded.
type httpWay struct {
	base   string
	client *http.Client
	corpus *Corpus
}

// StandIn is the way of replaying cases over HTTP, to a server at base.
func StandIn(base string, client *http.Client, corpus *Corpus) Way {
	return &httpWay{base: base, client: client, corpus: corpus}
}

func (w *httpWay) Name() string { return NameStandIn }

func (w *httpWay) Run(ctx context.Context, c *Case) (*Answer, error) {
	var body io.Reader
	if c.Body != nil {
		body = strings.NewReader(*c.Body)
	}
	target := w.base + "/" + (&url.URL{Path: c.Path}).EscapedPath()
	if c.Query != "" {
		target += "?" + c.Query
	}
	req, err := http.NewRequestWithContext(ctx, c.Method, target, body)
	if err != nil {
		return nil, err
	}
	if c.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range c.Headers {
		req.Header.Set(k, v)
	}
	if token, ok := w.corpus.Tokens[c.As]; ok {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	a := &Answer{Status: resp.StatusCode, Headers: map[string]string{}}
	for name := range resp.Header {
		a.Headers[strings.ToLower(name)] = resp.Header.Get(name)
	}
	if resp.StatusCode < 300 {
		a.Body = b
		return a, nil
	}
	e, ok := parseError(b)
	switch {
	case !ok:
		return nil, fmt.Errorf("status %d with a body that is no error of PostgREST's", resp.StatusCode)
	case resp.StatusCode == http.StatusNotImplemented:
		return nil, &parse.Error{Status: resp.StatusCode, Message: e.Details}
	}
	a.Error = e
	return a, nil
}
