package corpus

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/internal/parse"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// Way is one of the ways that a case can be run.
type Way interface {
	// Name is how reports and the file of wanted cases call the way.
	Name() string
	// Run answers a case. The error is for what isn't an answer: a feature that
	// the way lacks (see IsUnsupported), or a failure of the rig.
	Run(ctx context.Context, c *Case) (*Answer, error)
}

// Names of the ways.
const (
	NameStandIn = "stand-in"
	NameDirect  = "direct"
	NameREST    = "rest"
)

// IsUnsupported says whether a way failed because it lacks a feature.
func IsUnsupported(err error) bool {
	if _, ok := errors.AsType[*query.UnsupportedError](err); ok {
		return true
	}
	e, ok := errors.AsType[*parse.Error](err)
	return ok && e.Status == http.StatusNotImplemented
}

// backendWay runs a case's query on a backend.
type backendWay struct {
	name     string
	backend  dbaccess.Backend
	identify func(ctx context.Context, as string) (auth.Identity, error)
}

func (w *backendWay) Name() string { return w.name }

func (w *backendWay) Run(ctx context.Context, c *Case) (*Answer, error) {
	id, err := w.identify(ctx, c.As)
	if e, ok := errors.AsType[*auth.TokenError](err); ok {
		return &Answer{Status: http.StatusUnauthorized, Error: &Error{Code: e.Code, Message: e.Reason, Details: e.Details}}, nil
	}
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	for k, v := range c.Headers {
		header.Set(k, v)
	}
	var body []byte
	if c.Body != nil {
		body = []byte(*c.Body)
	}
	p, err := parse.Request(c.Method, (&url.URL{Path: c.Path}).EscapedPath(), c.Query, header, body)
	if err != nil {
		e, ok := errors.AsType[*parse.Error](err)
		if !ok || IsUnsupported(err) {
			return nil, err
		}
		return &Answer{Status: e.Status, Error: &Error{Code: e.Code, Message: e.Message, Details: e.Details, Hint: e.Hint}}, nil
	}
	res, err := w.backend.Do(ctx, &dbaccess.Call{Query: &p.Spec, Identity: id})
	if err != nil {
		return backendError(res, err)
	}
	return &Answer{Status: res.Status, Body: res.Body, HasRange: true, Rows: res.Rows, Total: res.Total}, nil
}

func backendError(res *dbaccess.Result, err error) (*Answer, error) {
	e, ok := errors.AsType[*dbaccess.Error](err)
	if !ok || IsUnsupported(err) || e.HTTPStatus == 0 || e.HTTPStatus == http.StatusNotImplemented {
		return nil, err
	}
	a := &Answer{Status: e.HTTPStatus, Error: &Error{Code: e.Code, Message: e.Message(), Details: e.Detail(), Hint: e.Hint()}}
	if res != nil {
		a.HasRange, a.Rows, a.Total = true, res.Rows, res.Total
	}
	return a, nil
}

// Direct is the way through the direct path: tokens are verified first, as
// middleware.Identity does.
func Direct(b dbaccess.Backend, corpus *Corpus, v auth.Verifier) Way {
	return &backendWay{name: NameDirect, backend: b, identify: func(ctx context.Context, as string) (auth.Identity, error) {
		token, ok := corpus.Tokens[as]
		if !ok {
			return auth.Identity{Role: AnonRole}, nil
		}
		return v.Verify(ctx, token)
	}}
}

// roleIn reads the role that a token names, whether the token holds or not: the
// REST path refuses an identity whose token is another's.
func roleIn(token string) string {
	var claims struct{ Role string }
	if parts := strings.Split(token, "."); len(parts) == 3 {
		payload, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err == nil {
			_ = json.Unmarshal(payload, &claims) // no role is the anonymous one
		}
	}
	return cmp.Or(claims.Role, AnonRole)
}

// REST is the way through the REST path: PostgREST, or the stand-in, verifies the
// tokens.
func REST(b dbaccess.Backend, corpus *Corpus) Way {
	return &backendWay{name: NameREST, backend: b, identify: func(_ context.Context, as string) (auth.Identity, error) {
		token, ok := corpus.Tokens[as]
		if !ok {
			return auth.Identity{Role: AnonRole}, nil
		}
		return auth.Identity{Role: roleIn(token), Token: token}, nil
	}}
}
