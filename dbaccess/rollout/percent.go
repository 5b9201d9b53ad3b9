package rollout

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/twinpath/twinpath/dbaccess"
)

// Option changes how [Percent] draws.
type Option interface{ apply(*percent) }

type saltOption string

func (s saltOption) apply(p *percent) { p.salt = string(s) }

// Salt draws afresh: under another salt other users come first. Two flags with
// one salt choose the same users. Defaults to the flag's name.
func Salt(s string) Option { return saltOption(s) }

// Percent sends that share of the subjects to Direct and the rest to REST. A
// share below 0 or that is not a number means 0, one above 100 means 100.
//
// A subject's draw depends on the subject and the salt alone, so it is the same
// in every process and after every restart, and a subject on Direct stays there
// while the share grows. A request without a subject draws at random, once: its
// calls stay together, its user's next request may go the other way.
func Percent(share float64, flag string, opts ...Option) dbaccess.Router {
	p := &percent{flag: flag, salt: flag}
	for _, o := range opts {
		if o != nil {
			o.apply(p)
		}
	}
	switch {
	case share >= 100:
		p.below = draws
	case share > 0:
		p.below = uint64(math.Round(share / 100 * draws))
	}
	p.seed = fnv1a(fnvOffset, p.salt)
	p.seed = fnv1a(p.seed, "\x00") // or "ab"+"c" would draw as "a"+"bc"
	return p
}

type percent struct {
	flag, salt string
	seed       uint64
	below      uint64 // draws below it go to Direct
}

var _ dbaccess.Router = (*percent)(nil)

// draws is the number of possible draws: the integers that a float64 counts.
const draws = 1 << 53

func (p *percent) Route(_ context.Context, r dbaccess.RouteRequest) dbaccess.Decision {
	d := dbaccess.Decision{Path: dbaccess.REST, Flag: p.flag, Reason: "percent"}
	var draw uint64
	if r.Subject != "" {
		draw = mix(fnv1a(p.seed, r.Subject)) >> 11
	} else {
		draw, d.Reason = rand.Uint64()>>11, "percent: no subject"
	}
	if draw < p.below {
		d.Path = dbaccess.Direct
	}
	d.Variant = string(d.Path)
	return d
}

// FNV-1a with 64 bits, by its definition: https://www.rfc-editor.org/rfc/rfc9923
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func fnv1a(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}

// mix spreads every bit of h over all others, which FNV does badly for the last
// bytes: without it u1, u2, u3 would draw adjacent numbers. It is the
// finalizer of MurmurHash3.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
