package jwt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

const maxRedirects = 3

// newKeyClient makes the client that asks for keys: a few times an hour, so that it
// keeps no connection.
func newKeyClient(transport http.RoundTripper) *http.Client {
	if transport == nil {
		transport = &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DisableKeepAlives:      true,
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: 64 << 10,
		}
	}
	return &http.Client{Transport: transport, CheckRedirect: checkRedirect}
}

// checkRedirect follows a redirect on the same host alone: who may redirect may
// say whose keys count.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if first := via[0].URL; len(via) > maxRedirects || req.URL.Host != first.Host || req.URL.Scheme != first.Scheme {
		return errRedirect
	}
	return nil
}

var errRedirect = errors.New("redirects to another host, or without end")

// fetchKeys asks for the key set. Its errors complete the sentence "the key set's
// server …", and hold neither the address, whose query may be secret, nor what the
// server said.
func fetchKeys(ctx context.Context, client *http.Client, address *url.URL) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return nil, errors.New("can't be asked")
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json")
	res, err := client.Do(req)
	if err != nil {
		return nil, failure(ctx, err, "can't be reached")
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("answers with status %d", res.StatusCode)
	}
	b, err := io.ReadAll(io.LimitReader(res.Body, MaxKeySetBytes+1))
	switch {
	case err != nil:
		return nil, failure(ctx, err, "breaks off its answer")
	case len(b) > MaxKeySetBytes:
		return nil, fmt.Errorf("answers with more than %d bytes", MaxKeySetBytes)
	}
	return b, nil
}

func failure(ctx context.Context, err error, otherwise string) error {
	switch {
	case errors.Is(err, errRedirect):
		return errRedirect
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return errors.New("does not answer in time")
	}
	return errors.New(otherwise)
}
