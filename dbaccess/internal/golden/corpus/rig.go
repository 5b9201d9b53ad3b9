package corpus

import (
	"context"
	"errors"
	"net/http"

	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

// RigConfig says where the corpus's database is.
type RigConfig struct {
	// DirectDSN is the stand-in's: the login role, straight to Postgres. Required.
	DirectDSN string
	// PoolerDSN is the direct path's: the login role, through a pooler. Required.
	PoolerDSN string
	// PostgRESTURL is the root of a real PostgREST for the REST path. Defaults to
	// the stand-in's.
	PostgRESTURL string
}

// Rig is everything that the ways need, set up as when the answers were recorded.
type Rig struct {
	Ways []Way
	ends []func(context.Context) error
}

// NewRig sets the ways up. Whoever makes a rig closes it.
func NewRig(corpus *Corpus, cfg RigConfig) (_ *Rig, err error) {
	r := &Rig{}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close(context.Background()))
		}
	}()
	standIn, err := postgresttest.NewServer(postgresttest.Config{
		DSN: cfg.DirectDSN, JWTSecret: Secret, AnonRole: AnonRole, Schemas: Schemas(), ServerTiming: true, AllowRollback: true,
	})
	if err != nil {
		return nil, err
	}
	r.ends = append(r.ends, func(context.Context) error { return standIn.Close() })
	transport := &http.Transport{}
	r.ends = append(r.ends, func(context.Context) error {
		transport.CloseIdleConnections()
		return nil
	})

	directPath, err := direct.New(direct.Config{DSN: cfg.PoolerDSN, AnonRole: AnonRole, Schema: Schemas()[0], Schemas: Schemas()})
	if err != nil {
		return nil, err
	}
	r.ends = append(r.ends, directPath.Close)
	tokens, err := jwt.NewHS256(jwt.Config{Secret: []byte(Secret), AnonRole: AnonRole})
	if err != nil {
		return nil, err
	}

	url := cfg.PostgRESTURL
	if url == "" {
		url = standIn.URL
	}
	restPath, err := rest.New(rest.Config{URL: url, AnonRole: AnonRole})
	if err != nil {
		return nil, err
	}
	r.ends = append(r.ends, restPath.Close)

	r.Ways = []Way{
		StandIn(standIn.URL, &http.Client{Transport: transport}, corpus),
		Direct(directPath, corpus, tokens),
		REST(restPath, corpus),
	}
	return r, nil
}

// Close gives up what the rig has, in reverse order.
func (r *Rig) Close(ctx context.Context) error {
	var errs []error
	for i := len(r.ends) - 1; i >= 0; i-- {
		errs = append(errs, r.ends[i](ctx))
	}
	return errors.Join(errs...)
}
