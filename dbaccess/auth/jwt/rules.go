package jwt

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

// rules are what a token's claims are held against, whoever signed it.
type rules struct {
	audience string
	role     auth.ClaimPath
	anonRole string
	skew     time.Duration
}

// newRules checks the fields that all configs have.
func newRules(audience, roleClaim, anonRole string, skew time.Duration) (rules, error) {
	var errs []error
	path, err := auth.ParseClaimPath(roleClaim)
	if err != nil {
		errs = append(errs, fmt.Errorf("Config.RoleClaim: %w", err))
	}
	if strings.EqualFold(anonRole, "none") {
		errs = append(errs, errors.New(`Config.AnonRole "none" means the login role to Postgres and is refused`))
	}
	if skew < 0 {
		errs = append(errs, errors.New("Config.Skew must be positive, 0 for the default or -1 for none"))
	}
	return rules{audience: audience, role: path, anonRole: anonRole, skew: skew}, errors.Join(errs...)
}

// identity judges the claims of a token whose signature is proven.
func (r *rules) identity(token string, t *compact) (auth.Identity, error) {
	payload, err := t.payload()
	if err != nil {
		return auth.Identity{}, err
	}
	claims, ok := members(payload)
	if !ok {
		return auth.Identity{}, claimsError("Parsing claims failed")
	}
	if err := r.checkTimes(claims); err != nil {
		return auth.Identity{}, err
	}
	if err := r.checkAudience(claims["aud"]); err != nil {
		return auth.Identity{}, err
	}
	role, err := r.roleOf(payload, claims)
	if err != nil {
		return auth.Identity{}, err
	}
	id := auth.Identity{Role: role, Claims: payload, Token: token}
	if id.Validate() != nil {
		return auth.Identity{}, claimsError("The role claim names no role that a request can act as")
	}
	return id, nil
}

// roleOf finds the role claim. One that is there but holds no string is refused:
// PostgREST would take its JSON text for a role's name.
func (r *rules) roleOf(payload json.RawMessage, claims map[string]json.RawMessage) (string, error) {
	var v json.RawMessage
	var ok bool
	if names, whole := r.role.Members(); whole && len(names) == 1 {
		v, ok = claims[names[0]] // which is read already
	} else {
		if !readOneWay(claims, names) {
			return "", claimsError("Parsing claims failed")
		}
		v, ok = r.role.Find(payload)
	}
	if !ok {
		return r.anonRole, nil
	}
	var role string
	if v[0] != '"' || json.Unmarshal(v, &role) != nil {
		return "", claimsError("The role claim must be a string")
	}
	return role, nil
}

// readOneWay says whether the objects that a path leads through have each name once.
// Of a repeated one PostgREST takes the first and Postgres the last.
func readOneWay(claims map[string]json.RawMessage, path []string) bool {
	for len(path) > 1 {
		b := claims[path[0]]
		if len(b) == 0 || b[0] != '{' {
			return true // the path ends here
		}
		inner, ok := members(b)
		if !ok {
			return false
		}
		claims, path = inner, path[1:]
	}
	return true
}
