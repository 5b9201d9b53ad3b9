package parse_test

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/internal/parse"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// reparse sends a compiled request through the parser.
func reparse(r compile.Request) (*parse.Parsed, error) {
	h := http.Header{"Accept": {r.Accept}}
	if r.Prefer != "" {
		h.Set("Prefer", r.Prefer)
	}
	if r.Profile != "" {
		h.Set(r.ProfileHeader(), r.Profile)
	}
	if r.ContentType != "" {
		h.Set("Content-Type", r.ContentType)
	}
	return parse.Request(r.Method, r.Path, r.RawQuery, h, r.Body)
}

// tooLong says whether a request is refused for its length: escaping may lengthen
// one that just fits into one that doesn't.
func tooLong(err error) bool {
	e, ok := errors.AsType[*parse.Error](err)
	return ok && e.Status == http.StatusRequestURITooLong
}

// What the REST compiler writes, the parser reads back, whatever the names and
// values are.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1_200) {
		want := random{rand.New(rand.NewPCG(seed, 1))}.spec()
		r, err := compile.REST(&want)
		if err != nil {
			t.Fatalf("seed %d: compile: %v", seed, err)
		}
		got, err := reparse(r)
		if err != nil {
			t.Fatalf("seed %d: parse %s?%s: %+v", seed, r.Path, r.RawQuery, *err.(*parse.Error))
		}
		sent := want
		sent.Select = answered(want.Select)
		if diff := cmp.Diff(sent, got.Spec, embedData); diff != "" {
			t.Fatalf("seed %d: %s?%s (-want +got):\n%s", seed, r.Path, r.RawQuery, diff)
		}
		_, err = compile.SQL(&want, compile.SQLOptions{Schema: "public", Aggregates: true})
		if needs := compile.NeedsCatalog(&want); err != nil && !needs || needs && !errors.Is(err, compile.ErrNeedsCatalog) {
			t.Fatalf("seed %d: compile to SQL without a catalog, needed: %v: %v", seed, needs, err)
		}
	}
}

// Negations in pairs cancel out, and an offset without rows is left out: these are
// the two things that the REST compiler does not write as they are.
func TestRoundTripNormalizes(t *testing.T) {
	t.Parallel()
	eq := query.Eq("a", 1)
	q := query.From("t").Where(query.Not(query.Not(eq)), query.Not(query.Not(query.Not(eq)))).Limit(0).Offset(3).Spec()
	r, err := compile.REST(&q)
	if err != nil {
		t.Fatal(err)
	}
	got, err := reparse(r)
	if err != nil {
		t.Fatal(err)
	}
	want := query.From("t").Where(eq, query.Not(eq)).Limit(0).Spec()
	if diff := cmp.Diff(want, got.Spec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
