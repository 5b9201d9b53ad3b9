// Package servertiming reads what PostgREST tells about its own time.
//
// PostgREST says how long each of its phases took, but not when they were: there
// is no clock in common. They are placed in the middle of the wait for its answer,
// as if the way there took as long as the way back.
package servertiming

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Phase is one of PostgREST's, at an offset from the beginning of the wait.
type Phase struct {
	Name             string // "postgrest.jwt"
	Offset, Duration time.Duration
}

// names are PostgREST's phases in the order in which they happen.
// Source: https://docs.postgrest.org/en/stable/references/observability.html#server-timing-header
var names = [...]string{"jwt", "parse", "plan", "transaction", "response"}

// rounding is by how much the figures, in tenths of a millisecond, may exceed the
// truth together.
const rounding = time.Duration(len(names)) * 50 * time.Microsecond

// Read returns the phases that an answer tells, of a wait of that length. release
// is PostgREST's, where it is known; else the header Server is asked. There are no
// phases for a release before 14.2, whose figures are wrong, for an unknown one,
// for another server's header, or for one that is malformed or tells more time than
// there was.
// Source for 14.2: https://github.com/PostgREST/postgrest/pull/4522
func Read(h http.Header, release string, wait time.Duration) []Phase {
	values := h.Values("Server-Timing")
	if len(values) == 0 {
		return nil
	}
	if release == "" {
		var ok bool
		if release, ok = cutPrefixFold(h.Get("Server"), "postgrest/"); !ok {
			return nil
		}
	}
	if !Credible(release) {
		return nil
	}
	return place(strings.Join(values, ","), wait)
}

// Credible says whether a release of PostgREST, such as "14.2" or "v15.0.1 (abc)",
// tells its time correctly. An unknown one does not.
func Credible(release string) bool {
	major, minor, ok := parse(release)
	return ok && (major > 14 || major == 14 && minor >= 2)
}

// Known says whether the text is a release at all.
func Known(release string) bool {
	_, _, ok := parse(release)
	return ok
}

func parse(release string) (major, minor int, ok bool) {
	release, _, _ = strings.Cut(strings.TrimPrefix(release, "v"), " ")
	majorText, rest, _ := strings.Cut(release, ".")
	minorText, _, _ := strings.Cut(rest, ".")
	if major, ok = digits(majorText); !ok {
		return 0, 0, false
	}
	if minor, ok = digits(minorText); !ok && rest != "" {
		return 0, 0, false
	}
	return major, minor, true
}

func place(header string, wait time.Duration) []Phase {
	var durations [len(names)]time.Duration
	var seen [len(names)]bool
	var sum time.Duration
	found := false
	for metric := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(metric, ";")
		i := indexOf(strings.TrimSpace(name))
		if i < 0 {
			continue // a gateway's
		}
		d, ok := duration(params)
		if !ok || seen[i] {
			return nil
		}
		durations[i], seen[i], found = d, true, true
		sum += d
	}
	if !found || sum > wait+rounding {
		return nil
	}
	excess := max(0, sum-wait)
	at := max(0, wait-sum) / 2
	phases := make([]Phase, 0, len(names))
	for i, d := range durations {
		if !seen[i] {
			continue
		}
		cut := min(d, excess)
		d, excess = d-cut, excess-cut
		phases = append(phases, Phase{Name: "postgrest." + names[i], Offset: at, Duration: d})
		at += d
	}
	return phases
}

func indexOf(name string) int {
	for i, n := range names {
		if n == name {
			return i
		}
	}
	return -1
}

// duration reads the parameter dur, in milliseconds.
func duration(params string) (time.Duration, bool) {
	for p := range strings.SplitSeq(params, ";") {
		v, ok := strings.CutPrefix(strings.TrimSpace(p), "dur=")
		if !ok {
			continue
		}
		ms, err := strconv.ParseFloat(v, 64)
		if err != nil || !(ms >= 0 && ms < 1e9) { // NaN is refused too
			return 0, false
		}
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	return 0, false
}

func digits(s string) (int, bool) {
	if s == "" || len(s) > 4 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return "", false
	}
	return s[len(prefix):], true
}
