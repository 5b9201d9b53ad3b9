package jwt

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// members reads a JSON object's members with their bytes, and refuses what can
// be read in more than one way: repeated names (RFC 7519, section 4) and text
// that isn't UTF-8.
func members(object []byte) (map[string]json.RawMessage, bool) {
	if !utf8.Valid(object) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	m := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, false
		}
		name, ok := t.(string)
		if _, repeated := m[name]; !ok || repeated {
			return nil, false
		}
		var v json.RawMessage
		if d.Decode(&v) != nil {
			return nil, false
		}
		m[name] = v
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return nil, false
	}
	return m, json.Valid(object) // nothing may follow
}

// setMember sets the member at path, making the objects on the way.
func setMember(object map[string]json.RawMessage, path []string, v json.RawMessage) error {
	if len(path) == 1 {
		object[path[0]] = v
		return nil
	}
	inner := map[string]json.RawMessage{}
	if b := object[path[0]]; b != nil {
		var ok bool
		if inner, ok = members(b); !ok {
			return errors.New("jwt: the role can't be put at Config.RoleClaim: the identity's claims have something there that is no object")
		}
	}
	if err := setMember(inner, path[1:], v); err != nil {
		return err
	}
	b, err := json.Marshal(inner)
	object[path[0]] = b
	return err
}

func (h *HS256) checkTimes(claims map[string]json.RawMessage) error {
	now, skew := float64(time.Now().Unix()), math.Floor(h.cfg.Skew.Seconds())
	for _, c := range []struct{ name, reason string }{
		{"exp", "JWT expired"},
		{"nbf", "JWT not yet valid"},
		{"iat", "JWT issued at future"},
	} {
		b := claims[c.name]
		if absent(b) {
			continue
		}
		t, ok := seconds(b)
		if !ok {
			return claimsError("The JWT '" + c.name + "' claim must be a number")
		}
		refused := t > now+skew
		if c.name == "exp" {
			// PostgREST takes an expiry that is no 64-bit integer for 1970.
			refused = t < now-skew || t != math.Floor(t) || t >= 1<<63
		}
		if refused {
			return claimsError(c.reason)
		}
	}
	return nil
}

// seconds reads a NumericDate. Seconds of this era are exact in a float64.
func seconds(b []byte) (float64, bool) {
	if b[0] != '-' && (b[0] < '0' || b[0] > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // out of range is infinite
		return 0, false
	}
	return f, true
}

// checkAudience follows PostgREST, to which an absent, null or empty audience
// means every audience.
func (h *HS256) checkAudience(b json.RawMessage) error {
	if absent(b) {
		return nil
	}
	var list []string
	switch b[0] {
	case '"':
		var s string
		if json.Unmarshal(b, &s) != nil {
			return errAudience
		}
		list = []string{s}
	case '[':
		var items []json.RawMessage
		if json.Unmarshal(b, &items) != nil {
			return errAudience
		}
		if len(items) == 0 {
			return nil
		}
		for _, it := range items {
			var s string
			if it[0] != '"' || json.Unmarshal(it, &s) != nil {
				return errAudience
			}
			list = append(list, s)
		}
	default:
		return errAudience
	}
	if h.cfg.Audience != "" && !slices.Contains(list, h.cfg.Audience) {
		return claimsError("JWT not in audience")
	}
	return nil
}

var errAudience error = claimsError("The JWT 'aud' claim must be a string or an array of strings")

// role finds the role claim. One that is there but holds no string is refused:
// PostgREST would take its JSON text for a role's name.
func (h *HS256) role(claims map[string]json.RawMessage) (string, error) {
	m := claims
	for i, step := range h.cfg.RoleClaim {
		b, ok := m[step]
		if !ok {
			return h.cfg.AnonRole, nil
		}
		if i == len(h.cfg.RoleClaim)-1 {
			var role string
			if b[0] != '"' || json.Unmarshal(b, &role) != nil {
				break
			}
			return role, nil
		}
		if m, ok = members(b); !ok {
			break
		}
	}
	return "", claimsError("The role claim must be a string")
}

func absent(b json.RawMessage) bool { return b == nil || string(b) == "null" }
