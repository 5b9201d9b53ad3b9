package rest

import (
	"context"
	"errors"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
)

// ErrNoToken means that an identity has no bearer token, its role is not the
// anonymous one, and no signer is configured.
var ErrNoToken = errors.New("identity without a bearer token")

// authorize returns the Authorization header for an identity, "" for none.
func (b *Backend) authorize(ctx context.Context, id auth.Identity) (string, error) {
	token := id.Token
	if token == "" {
		if id.Role == b.cfg.AnonRole {
			return "", nil
		}
		if b.cfg.Signer == nil {
			return "", &dbaccess.Error{
				Path: dbaccess.REST, Kind: ErrNoToken,
				Advice: "PostgREST believes tokens alone: pass the caller's in auth.Identity.Token, or set rest.Config.Signer",
			}
		}
		var err error
		if token, err = b.cfg.Signer.Sign(ctx, id); err != nil {
			e := dbaccess.Error{Path: dbaccess.REST, Kind: ErrNoToken, Advice: "rest.Config.Signer failed"}
			return "", e.With(dbaccess.ServerText{}, err)
		}
	}
	if !isToken(token) {
		return "", &dbaccess.Error{
			Path: dbaccess.REST, Kind: dbaccess.ErrUnauthorized, Code: auth.CodeTokenInvalid, HTTPStatus: 401,
			Advice: "the bearer token has characters that no token may have",
		}
	}
	return "Bearer " + token, nil
}
