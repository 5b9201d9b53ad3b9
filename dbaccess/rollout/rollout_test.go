package rollout_test

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/rollout"
)

func route(r dbaccess.Router, subject string) dbaccess.Decision {
	return r.Route(context.Background(), dbaccess.RouteRequest{Subject: subject})
}

func TestFixed(t *testing.T) {
	t.Parallel()
	for _, p := range []dbaccess.Path{dbaccess.REST, dbaccess.Direct} {
		want := dbaccess.Decision{Path: p, Variant: string(p), Reason: "fixed"}
		if diff := cmp.Diff(want, route(rollout.Fixed(p), "alice")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestPercentIsStable pins draws that other processes have made: should they
// change, users would change sides with an upgrade.
func TestPercentIsStable(t *testing.T) {
	t.Parallel()
	r := rollout.Percent(50, "db-access-path")
	got := ""
	for i := range 32 {
		if route(r, "user-"+strconv.Itoa(i)).Path == dbaccess.Direct {
			got += "D"
		} else {
			got += "r"
		}
	}
	if want := "DDrDDrrDDDrrrDrrDDrDrrrDrrrDrDrr"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPercentDecision(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		share   float64
		subject string
		want    dbaccess.Decision
	}{
		{0, "alice", dbaccess.Decision{Path: dbaccess.REST, Variant: "rest", Flag: "f", Reason: "percent"}},
		{100, "alice", dbaccess.Decision{Path: dbaccess.Direct, Variant: "direct", Flag: "f", Reason: "percent"}},
		{0, "", dbaccess.Decision{Path: dbaccess.REST, Variant: "rest", Flag: "f", Reason: "percent: no subject"}},
		{100, "", dbaccess.Decision{Path: dbaccess.Direct, Variant: "direct", Flag: "f", Reason: "percent: no subject"}},
		{-5, "alice", dbaccess.Decision{Path: dbaccess.REST, Variant: "rest", Flag: "f", Reason: "percent"}},
		{math.NaN(), "alice", dbaccess.Decision{Path: dbaccess.REST, Variant: "rest", Flag: "f", Reason: "percent"}},
		{math.Inf(1), "alice", dbaccess.Decision{Path: dbaccess.Direct, Variant: "direct", Flag: "f", Reason: "percent"}},
	} {
		if diff := cmp.Diff(tt.want, route(rollout.Percent(tt.share, "f", nil), tt.subject)); diff != "" {
			t.Errorf("%v, %q (-want +got):\n%s", tt.share, tt.subject, diff)
		}
	}
}

// TestPercentEnds tries every subject, and the random draw, at both ends.
func TestPercentEnds(t *testing.T) {
	t.Parallel()
	none, all := rollout.Percent(0, "f"), rollout.Percent(100, "f")
	for i := range 20_000 {
		subject := ""
		if i%2 == 0 {
			subject = strconv.Itoa(i)
		}
		if d := route(none, subject); d.Path != dbaccess.REST {
			t.Fatalf("0 %% sent %q to %s", subject, d.Path)
		}
		if d := route(all, subject); d.Path != dbaccess.Direct {
			t.Fatalf("100 %% sent %q to %s", subject, d.Path)
		}
	}
}

func TestPercentIsMonotone(t *testing.T) {
	t.Parallel()
	var routers []dbaccess.Router
	for _, share := range []float64{0, 0.01, 0.5, 1, 2, 5, 10, 25, 33.3, 50, 75, 90, 99, 99.99, 100} {
		routers = append(routers, rollout.Percent(share, "f"))
	}
	for i := range 5_000 {
		subject := fmt.Sprintf("11111111-1111-1111-1111-%012d", i)
		seen := false
		for j, r := range routers {
			direct := route(r, subject).Path == dbaccess.Direct
			if seen && !direct {
				t.Fatalf("%s left Direct when the share grew to step %d", subject, j)
			}
			seen = seen || direct
		}
	}
}

// TestPercentIsUniform counts over subjects that differ little, as ids do. The
// bound is five standard deviations of a fair draw; the subjects are fixed, so
// the test either passes always or never.
func TestPercentIsUniform(t *testing.T) {
	t.Parallel()
	const n = 50_000
	for name, subject := range map[string]func(int) string{
		"numbers":  strconv.Itoa,
		"prefixed": func(i int) string { return "user-" + strconv.Itoa(i) },
		"uuids":    func(i int) string { return fmt.Sprintf("11111111-1111-1111-1111-%012d", i) },
		"emails":   func(i int) string { return fmt.Sprintf("u%d@example.org", i) },
		"one byte": func(i int) string { return string([]byte{byte(i), byte(i >> 8)}) },
	} {
		for _, share := range []float64{1, 10, 50, 90} {
			r, direct := rollout.Percent(share, "db-access-path"), 0
			for i := range n {
				if route(r, subject(i)).Path == dbaccess.Direct {
					direct++
				}
			}
			p := share / 100
			if off := math.Abs(float64(direct) - n*p); off > 5*math.Sqrt(n*p*(1-p)) {
				t.Errorf("%s: %v %% of %d subjects are %d", name, share, n, direct)
			}
		}
	}
}

// TestSaltsAreIndependent: of the half on Direct under one salt, half are under
// another.
func TestSaltsAreIndependent(t *testing.T) {
	t.Parallel()
	const n = 20_000
	a, b := rollout.Percent(50, "f"), rollout.Percent(50, "f", rollout.Salt("again"))
	same := rollout.Percent(50, "g", rollout.Salt("f"))
	both := 0
	for i := range n {
		s := strconv.Itoa(i)
		if route(a, s).Path == dbaccess.Direct && route(b, s).Path == dbaccess.Direct {
			both++
		}
		if route(a, s).Path != route(same, s).Path {
			t.Fatalf("one salt, two draws for %s", s)
		}
	}
	if off := math.Abs(float64(both) - n/4); off > 5*math.Sqrt(n*0.25*0.75) {
		t.Errorf("%d of %d are on Direct under both", both, n)
	}
}

// TestNoSubjectDrawsPerRequest: at 50 % a run of 64 equal draws does not happen.
func TestNoSubjectDrawsPerRequest(t *testing.T) {
	t.Parallel()
	r := rollout.Percent(50, "f")
	paths := map[dbaccess.Path]int{}
	for range 64 {
		paths[route(r, "").Path]++
	}
	if len(paths) != 2 {
		t.Errorf("64 requests without a subject went %v", paths)
	}
}

func TestSwitch(t *testing.T) {
	t.Parallel()
	s := rollout.NewSwitch(nil)
	if d := route(s, "a"); d.Path != dbaccess.REST {
		t.Errorf("nil: %v", d)
	}
	if d := route(new(rollout.Switch), "a"); d.Path != dbaccess.REST {
		t.Errorf("zero value: %v", d)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 100 {
				if i%2 == 0 {
					s.Set(rollout.Fixed(dbaccess.Direct))
				} else if d := route(s, "a"); !d.Path.Valid() {
					t.Errorf("got %v", d)
				}
			}
		})
	}
	wg.Wait()
	if d := route(s, "a"); d.Path != dbaccess.Direct {
		t.Errorf("after Set: %v", d)
	}
}

func TestByQueryAndOverride(t *testing.T) {
	t.Parallel()
	paths := map[string]dbaccess.Path{"history": dbaccess.REST, "typo": "dierct"}
	inner := rollout.ByQuery(paths, rollout.Fixed(dbaccess.Direct))
	nested := rollout.ByQuery(map[string]dbaccess.Path{"quotes": dbaccess.REST}, inner)
	delete(paths, "history") // the router has its own copy
	for _, tt := range []struct {
		name   string
		router dbaccess.QueryRouter
		ctx    context.Context
		query  string
		path   dbaccess.Path
		reason string
	}{
		{"mapped", inner, context.Background(), "history", dbaccess.REST, "by query"},
		{"not mapped", inner, context.Background(), "recent", dbaccess.Direct, "fixed"},
		{"mapped to no path", inner, context.Background(), "typo", dbaccess.Direct, "fixed"},
		{"outer map", nested, context.Background(), "quotes", dbaccess.REST, "by query"},
		{"inner map", nested, context.Background(), "history", dbaccess.REST, "by query"},
		{"override outside", rollout.Overridable(inner), rollout.WithOverride(context.Background(), dbaccess.Direct), "history", dbaccess.Direct, "override"},
		{"override inside", rollout.ByQuery(map[string]dbaccess.Path{"history": dbaccess.REST}, rollout.Overridable(nil)), rollout.WithOverride(context.Background(), dbaccess.Direct), "history", dbaccess.Direct, "override"},
		{"no override", rollout.Overridable(inner), context.Background(), "history", dbaccess.REST, "by query"},
		{"override to no path", rollout.Overridable(inner), rollout.WithOverride(context.Background(), "x"), "recent", dbaccess.Direct, "fixed"},
		{"not overridable", inner, rollout.WithOverride(context.Background(), dbaccess.REST), "recent", dbaccess.Direct, "fixed"},
		{"nothing to ask", rollout.Overridable(nil), context.Background(), "recent", dbaccess.REST, "fixed"},
	} {
		d := tt.router.Route(tt.ctx, dbaccess.RouteRequest{Subject: "alice", Query: tt.query})
		path, reason := tt.router.PathFor(d, tt.query)
		if path != tt.path || reason != tt.reason {
			t.Errorf("%s: %s because %s, want %s because %s", tt.name, path, reason, tt.path, tt.reason)
		}
	}
}

func TestDecisionsAllocateNothing(t *testing.T) {
	ctx := context.Background()
	override := rollout.WithOverride(ctx, dbaccess.Direct)
	for name, r := range map[string]dbaccess.Router{
		"fixed":    rollout.Fixed(dbaccess.REST),
		"percent":  rollout.Percent(10, "f"),
		"switch":   rollout.NewSwitch(rollout.Percent(10, "f")),
		"byquery":  rollout.ByQuery(map[string]dbaccess.Path{"q": dbaccess.REST}, rollout.Percent(10, "f")),
		"override": rollout.Overridable(rollout.Percent(10, "f")),
	} {
		for _, subject := range []string{"11111111-1111-1111-1111-111111111111", ""} {
			allocs := testing.AllocsPerRun(100, func() {
				d := r.Route(ctx, dbaccess.RouteRequest{Subject: subject, Query: "q"})
				if qr, ok := r.(dbaccess.QueryRouter); ok {
					qr.PathFor(d, "q")
				}
				r.Route(override, dbaccess.RouteRequest{Subject: subject})
			})
			if allocs != 0 {
				t.Errorf("%s, subject %q: %v allocations", name, subject, allocs)
			}
		}
	}
}

func BenchmarkDecision(b *testing.B) {
	for _, bb := range []struct {
		name    string
		router  dbaccess.Router
		subject string
	}{
		{"fixed", rollout.Fixed(dbaccess.REST), "11111111-1111-1111-1111-111111111111"},
		{"percent", rollout.Percent(10, "db-access-path"), "11111111-1111-1111-1111-111111111111"},
		{"percent-no-subject", rollout.Percent(10, "db-access-path"), ""},
		{"switch", rollout.NewSwitch(rollout.Percent(10, "db-access-path")), "11111111-1111-1111-1111-111111111111"},
	} {
		b.Run(bb.name, func(b *testing.B) {
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				bb.router.Route(ctx, dbaccess.RouteRequest{Subject: bb.subject})
			}
		})
	}
}
