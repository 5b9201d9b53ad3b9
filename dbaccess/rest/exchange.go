package rest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/servertiming"
)

// maxErrorBytes bounds what is read of an answer that is an error.
const maxErrorBytes = 64 << 10

// exchange is the round tripper of one call: it sends the compiled request in
// place of postgrest-go's, and keeps the answer.
type exchange struct {
	sending
	backend *Backend
	ctx     context.Context
	request compile.Request
	query   *query.Spec
	writes  bool // it may change something
	tried   bool // it was handed to the transport
	foreign bool // the answer is not PostgREST's

	timeline timeline
	limited  io.LimitedReader
	status   int
	header   http.Header
	body     []byte
	err      error
}

var _ http.RoundTripper = (*exchange)(nil)

// RoundTrip sends the request and reads the whole answer. What it returns to
// postgrest-go is an empty 200: the answer is in the exchange, and copying the
// rows once more would help nobody.
func (x *exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	req, err := x.httpRequest(r)
	if err != nil {
		return nil, x.fail(err)
	}
	x.tried = true
	resp, err := x.backend.parent.RoundTrip(req)
	if err != nil {
		return nil, x.fail(x.transportError(err))
	}
	defer resp.Body.Close()
	x.status, x.header = resp.StatusCode, resp.Header
	if resp.StatusCode >= 300 {
		// An error that can't be read in full is told as far as it goes.
		x.body, _ = io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
		return nil, x.fail(x.statusError())
	}
	if !isJSON(resp.Header.Get("Content-Type")) {
		x.body, _ = io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
		return nil, x.fail(x.foreignError())
	}
	if err := x.readBody(resp); err != nil {
		return nil, x.fail(err)
	}
	if err := x.shapeError(); err != nil {
		return nil, x.fail(err)
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// fail notes the error for Do, which would get it wrapped in one that prints
// the URL.
func (x *exchange) fail(err error) error {
	x.err = x.outcome(err)
	return x.err
}

func (x *exchange) httpRequest(r *http.Request) (*http.Request, error) {
	target := *x.backend.base
	path, err := url.PathUnescape(x.request.Path)
	if err != nil {
		return nil, compileError(err)
	}
	if path != x.request.Path || target.RawPath != "" {
		target.RawPath = target.EscapedPath() + "/" + x.request.Path
	}
	target.Path += "/" + path
	target.RawQuery = x.request.RawQuery

	ctx := x.timeline.traced(x.ctx, x.backend.own != nil, target.Scheme == "https")
	req := r.WithContext(ctx)
	req.Method, req.URL, req.Host, req.Header = x.request.Method, &target, target.Host, x.headers(r)
	// Without GetBody net/http can't send a body twice.
	req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	switch body := x.request.Body; {
	case len(body) > 0:
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	case x.writes && target.Scheme == "https":
		// Over HTTP/2 net/http sends any request without a body again when the server ends
		// its stream with PROTOCOL_ERROR. This is one of no bytes.
		req.Body = io.NopCloser(bytes.NewReader(nil))
	}
	return req, nil
}

// headers are all that the request has, each once.
func (x *exchange) headers(r *http.Request) http.Header {
	h := make(http.Header, 8)
	maps.Copy(h, x.forwarded)      // those of our own replace them
	values := make([]string, 0, 6) // one array for them all
	set := func(name, value string) {
		if value != "" {
			values = append(values, value)
			h[name] = values[len(values)-1 : len(values) : len(values)]
		}
	}
	set("Accept", x.request.Accept)
	set("Prefer", x.request.Prefer)
	set(x.request.ProfileHeader(), x.request.Profile)
	set("Content-Type", x.request.ContentType)
	set("Apikey", x.backend.cfg.APIKey)
	set("Authorization", x.authorization)
	if client := r.Header["X-Client-Info"]; client != nil && h["X-Client-Info"] == nil {
		h["X-Client-Info"] = client
	}
	return h
}

// readBody reads the rows, up to the limit.
func (x *exchange) readBody(resp *http.Response) error {
	limit := x.backend.cfg.MaxBodyBytes
	if resp.ContentLength > limit {
		return tooLarge()
	}
	var b bytes.Buffer
	if n := resp.ContentLength; n > 0 && x.request.Method != http.MethodHead {
		b.Grow(int(min(n, maxGrow)) + bytes.MinRead) // room to meet the end without growing
	}
	x.limited = io.LimitedReader{R: resp.Body, N: limit + 1}
	n, err := b.ReadFrom(&x.limited)
	x.body = b.Bytes()
	switch {
	case err != nil:
		return x.transportError(err)
	case n > limit:
		return tooLarge()
	}
	return nil
}

// maxGrow bounds the memory that is set aside on a Content-Length's word.
const maxGrow = 1 << 20

// isJSON says whether a Content-Type is one that PostgREST answers a read with.
// An answer without one is given the benefit of the doubt.
func isJSON(contentType string) bool {
	return contentType == "" || strings.Contains(contentType, "json")
}

// result closes the call's books.
func (x *exchange) result(q *query.Spec) *dbaccess.Result {
	res := &dbaccess.Result{Rows: -1, Total: -1, Status: x.status}
	res.Phases, res.Conn = x.timeline.phases(time.Now())
	if x.header == nil {
		return res
	}
	cr := parseContentRange(x.header.Get("Content-Range"))
	res.Total = cr.total
	if x.err != nil {
		return res
	}
	res.Body, res.Rows = x.body, cr.rows
	switch {
	case q.Head, len(x.body) == 0:
		res.Body, res.Rows = nil, 0
	case q.Single:
		res.Rows = 1
	case q.Op == query.OpInsert, q.Op == query.OpDelete:
		res.Rows = -1 // of those the header has the number alone, and only when counted
	}
	x.serverTiming(res.Phases)
	return res
}

// serverTiming divides the wait by what PostgREST says about it.
func (x *exchange) serverTiming(phases []dbaccess.Phase) {
	for i := range phases {
		wait := &phases[i]
		if wait.Name != dbaccess.PhaseWait {
			continue
		}
		for _, p := range servertiming.Read(x.header, x.backend.cfg.ServerVersion, wait.Duration) {
			wait.Children = append(wait.Children, dbaccess.Phase{Name: p.Name, Start: wait.Start.Add(p.Offset), Duration: p.Duration, Placed: true})
		}
	}
}

func tooLarge() error {
	return &dbaccess.Error{
		Path: dbaccess.REST, Kind: ErrBodyTooLarge,
		Advice: "give the query a limit or fewer columns, or raise rest.Config.MaxBodyBytes",
	}
}

// ErrBodyTooLarge means that an answer was longer than Config.MaxBodyBytes.
var ErrBodyTooLarge = errors.New("answer too large")
