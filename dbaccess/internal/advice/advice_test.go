package advice_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/internal/advice"
	"github.com/twinpath/twinpath/dbaccess/query"
)

func ExampleFor() {
	s := query.From("people").Where(query.Eq("born", "yesterday")).Spec()
	fmt.Println(advice.For(advice.Failure{Code: "22007", Query: &s}))
	// Output: a value of a filter does not fit the type of its column or argument
}

func TestFor(t *testing.T) {
	t.Parallel()
	spec := func(q query.Query) *query.Spec { s := q.Spec(); return &s }
	plain, filtered := spec(query.From("t")), spec(query.From("t").Where(query.Eq("c", "v")))
	embedded := spec(query.From("t").Select(query.Embed{Relation: "u", Where: []query.Expr{query.Eq("c", "v")}}))
	nested := spec(query.From("t").Select(query.Embed{Relation: "u", Select: []query.Item{query.Embed{Relation: "v", Where: []query.Expr{query.Eq("c", "v")}}}}))
	insert := &query.Spec{Op: query.OpInsert, From: "t", Write: &query.Write{}}
	update := &query.Spec{Op: query.OpUpdate, From: "t", Write: &query.Write{}, Where: filtered.Where}
	remove := &query.Spec{Op: query.OpDelete, From: "t", Write: &query.Write{}, Where: filtered.Where}
	called := spec(query.Call("f", map[string]any{"a": 1}))
	bare := spec(query.Call("f", nil))
	zoned := *plain
	zoned.TimeZone = "Nowhere"
	for name, tt := range map[string]struct {
		f          advice.Failure
		has, hasNo []string
	}{
		"read without a filter":    {advice.Failure{Code: "22P02", Query: plain}, []string{"no value of its own"}, []string{"a filter", "written"}},
		"filter":                   {advice.Failure{Code: "22P02", Query: filtered}, []string{"of a filter"}, []string{"written", "argument of"}},
		"filter of an embed":       {advice.Failure{Code: "22007", Query: embedded}, []string{"of a filter"}, nil},
		"filter of a nested embed": {advice.Failure{Code: "22008", Query: nested}, []string{"of a filter"}, nil},
		"insert":                   {advice.Failure{Code: "22003", Query: insert}, []string{"written"}, []string{"filter"}},
		"too long":                 {advice.Failure{Code: "22001", Query: insert}, []string{"too long", "written"}, []string{"filter"}},
		"update":                   {advice.Failure{Code: "22P02", Query: update}, []string{"written", "of a filter"}, nil},
		"delete":                   {advice.Failure{Code: "22P02", Query: remove}, []string{"of a filter"}, []string{"written"}},
		"call":                     {advice.Failure{Code: "22P02", Query: called}, []string{"among the arguments"}, []string{"filter"}},
		"call without arguments":   {advice.Failure{Code: "22P02", Query: bare}, []string{"no value of its own"}, []string{"among", "filter"}},
		"query not known":          {advice.Failure{Code: "22P02"}, []string{"a value does not fit"}, []string{"filter"}},
		"no such role":             {advice.Failure{Code: "22023", Message: `role "x" does not exist`}, []string{"role does not exist"}, []string{"time zone"}},
		"no such role, zoned":      {advice.Failure{Code: "22023", Message: `role "x" does not exist`, Query: &zoned}, []string{"role does not exist"}, []string{"time zone"}},
		"role or zone":             {advice.Failure{Code: "22023", Message: "ungültig", Role: true, Query: &zoned}, []string{"role does not exist", "time zone"}, nil},
		"other parameter":          {advice.Failure{Code: "22023", Message: "invalid"}, nil, []string{"role"}},
		"role not granted":         {advice.Failure{Code: "42501", Message: `permission denied to set role "x"`}, []string{"login role"}, nil},
		"role, in German":          {advice.Failure{Code: "42501", Message: "keine Berechtigung", Role: true}, []string{"login role"}, nil},
		"privilege":                {advice.Failure{Code: "42501", Message: "permission denied for table t"}, []string{"lacks a privilege", "policy"}, []string{"login role"}},
		"table":                    {advice.Failure{Code: "42P01"}, []string{"no such table"}, nil},
		"table in a function":      {advice.Failure{Code: "42P01", Nested: true}, []string{"view or function"}, nil},
		"expired":                  {advice.Failure{Code: "PGRST303", Message: "JWT expired"}, []string{"has expired"}, nil},
		"audience":                 {advice.Failure{Code: "PGRST303", Message: "JWT not in audience"}, []string{"aud"}, []string{"expired"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := advice.For(tt.f)
			for _, part := range tt.has {
				if !strings.Contains(got, part) {
					t.Errorf("advice %q lacks %q", got, part)
				}
			}
			for _, part := range tt.hasNo {
				if strings.Contains(got, part) {
					t.Errorf("advice %q has %q", got, part)
				}
			}
		})
	}
}

// Nothing that a server says gets into the advice.
func TestForHoldsNoValues(t *testing.T) {
	t.Parallel()
	const canary = "c4n4ry"
	s := query.From(canary).Columns(canary).Where(query.Eq(canary, canary)).Spec()
	for _, code := range []string{"22023", "42501", "22P02", "22001", "42703", "42P01", "23505", "PGRST200", "PGRST303", canary} {
		for _, message := range []string{canary, `role "` + canary + `" does not exist`, `permission denied to set role "` + canary + `"`} {
			if got := advice.For(advice.Failure{Code: code, Message: message, Query: &s}); strings.Contains(got, canary) {
				t.Errorf("%s: advice %q", code, got)
			}
		}
	}
}
