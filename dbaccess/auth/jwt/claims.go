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

	"github.com/twinpath/twinpath/dbaccess/auth"
)

// members reads a JSON object's members with their bytes, and refuses what can
// be read in more than one way: repeated names (RFC 7519, section 4) and text
// that isn't UTF-8.
func members(object []byte) (map[string]json.RawMessage, bool) {
	if !utf8.Valid(object) || !bytes.HasPrefix(bytes.TrimLeft(object, " \t\r\n"), []byte("{")) {
		return nil, false
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(object, &m) != nil {
		return nil, false
	}
	return m, len(m) == countMembers(object)
}

// countMembers counts the members of valid JSON, repeated ones too: the colons that
// are in no text and no inner object.
func countMembers(object []byte) int {
	n, depth := 0, 0
	for i := 0; i < len(object); i++ {
		switch object[i] {
		case '"':
			for i++; object[i] != '"'; i++ {
				if object[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ':':
			if depth == 1 {
				n++
			}
		}
	}
	return n
}

// putRole sets the role at a path, making the objects on the way. An array gets it
// as its first element.
func putRole(claims map[string]json.RawMessage, path auth.ClaimPath, role json.RawMessage) error {
	names, whole := path.Members()
	if len(names) == 0 {
		return errRolePlace
	}
	if !whole {
		role = slices.Concat([]byte("["), role, []byte("]"))
	}
	return setMember(claims, names, role)
}

// setMember sets the member at path, making the objects on the way. An array is
// put in front of the array that is there.
func setMember(object map[string]json.RawMessage, path []string, v json.RawMessage) error {
	if len(path) == 1 {
		if old := object[path[0]]; v[0] == '[' && !absent(old) {
			if old[0] != '[' {
				return errRolePlace
			}
			if rest := bytes.TrimLeft(old[1:], " \t\r\n"); rest[0] != ']' {
				v = slices.Concat(v[:len(v)-1], []byte(","), rest)
			}
		}
		object[path[0]] = v
		return nil
	}
	inner := map[string]json.RawMessage{}
	if b := object[path[0]]; b != nil {
		var ok bool
		if inner, ok = members(b); !ok {
			return errRolePlace
		}
	}
	if err := setMember(inner, path[1:], v); err != nil {
		return err
	}
	b, err := json.Marshal(inner)
	object[path[0]] = b
	return err
}

var errRolePlace = errors.New("jwt: the role can't be put at Config.RoleClaim: the identity's claims have something else there, or the path has steps that can't be written")

func (r *rules) checkTimes(claims map[string]json.RawMessage) error {
	now, skew := float64(time.Now().Unix()), math.Floor(r.skew.Seconds())
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
func (r *rules) checkAudience(b json.RawMessage) error {
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
	if r.audience != "" && !slices.Contains(list, r.audience) {
		return claimsError("JWT not in audience")
	}
	return nil
}

var errAudience error = claimsError("The JWT 'aud' claim must be a string or an array of strings")

func absent(b json.RawMessage) bool { return b == nil || string(b) == "null" }
