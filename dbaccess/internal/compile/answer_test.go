package compile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	q "github.com/twinpath/twinpath/dbaccess/query"
)

func TestAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec        q.Spec
		rows, total int64
		want        compile.Reply
	}{
		"all rows":              {q.Spec{}, 8, compile.NotCounted, compile.Reply{Status: 200, ContentRange: "0-7/*"}},
		"no rows":               {q.Spec{}, 0, compile.NotCounted, compile.Reply{Status: 200, ContentRange: "*/*"}},
		"window":                {q.Spec{Limit: 3, HasLimit: true, Offset: 4}, 3, compile.NotCounted, compile.Reply{Status: 200, ContentRange: "4-6/*"}},
		"past the end":          {q.Spec{Offset: 50}, 0, compile.NotCounted, compile.Reply{Status: 200, ContentRange: "*/*"}},
		"counted, all":          {q.Spec{}, 12, 12, compile.Reply{Status: 200, ContentRange: "0-11/12"}},
		"counted, part":         {q.Spec{Limit: 2, HasLimit: true}, 2, 12, compile.Reply{Status: 206, ContentRange: "0-1/12"}},
		"counted, window":       {q.Spec{Limit: 2, HasLimit: true, Offset: 3}, 2, 30, compile.Reply{Status: 206, ContentRange: "3-4/30"}},
		"counted, none":         {q.Spec{}, 0, 0, compile.Reply{Status: 200, ContentRange: "*/0"}},
		"counted, at the end":   {q.Spec{Offset: 12}, 0, 12, compile.Reply{Status: 206, ContentRange: "*/12"}},
		"counted, limit zero":   {q.Spec{HasLimit: true}, 0, 12, compile.Reply{Status: 206, ContentRange: "*/12"}},
		"zero limit and offset": {q.Spec{HasLimit: true, Offset: 50}, 0, 12, compile.Reply{Status: 206, ContentRange: "*/12"}},
		"counted, past the end": {q.Spec{Offset: 50}, 0, 12, compile.Reply{Status: 416, ContentRange: "*/12", Failure: &compile.Failure{
			Code: "PGRST103", Message: "Requested range not satisfiable",
			Details: "An offset of 50 was requested, but there are only 12 rows.",
		}}},
		"estimate too low": {q.Spec{}, 12, 3, compile.Reply{Status: 200, ContentRange: "0-11/3"}},
		"single":           {q.Spec{Single: true}, 1, compile.NotCounted, compile.Reply{Status: 200, ContentRange: "0-0/*"}},
		"single, none": {q.Spec{Single: true}, 0, compile.NotCounted, compile.Reply{Status: 406, Failure: &compile.Failure{
			Code: "PGRST116", Message: "Cannot coerce the result to a single JSON object", Details: "The result contains 0 rows",
		}}},
		"single, many, counted": {q.Spec{Single: true, Offset: 50}, 20, 20, compile.Reply{Status: 406, Failure: &compile.Failure{
			Code: "PGRST116", Message: "Cannot coerce the result to a single JSON object", Details: "The result contains 20 rows",
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, compile.Answer(&tc.spec, tc.rows, tc.total)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTotal(t *testing.T) {
	t.Parallel()
	const none = compile.NotCounted
	for name, tc := range map[string]struct {
		count                     q.Count
		counted, planned, maxRows int64
		want                      int64
	}{
		"none":                           {q.CountNone, none, none, 0, none},
		"exact":                          {q.CountExact, 12, none, 0, 12},
		"planned":                        {q.CountPlanned, none, 900, 0, 900},
		"estimated without a row limit":  {q.CountEstimated, 12, 900, 0, 900},
		"estimated, plan below count":    {q.CountEstimated, 12, 1, 0, 12},
		"estimated within the row limit": {q.CountEstimated, 12, 900, 100, 12},
		"estimated beyond the row limit": {q.CountEstimated, 101, 900, 100, 900},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := q.Spec{Count: tc.count}
			if got := compile.Total(&s, tc.counted, tc.planned, tc.maxRows); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}
