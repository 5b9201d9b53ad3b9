package compile_test

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/internal/parse"
	q "github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

var seeds = []string{
	"a", "", `"`, `""`, `\`, `\\`, `\"`, `"\`, `a","b`, "a,b", "(a)", "*", "%41", "+", "&", ";", "=", "#", "\n", "\t ", " lead",
	"한글", "🚀", "\u00a0", "'", "--", "$1", `"; drop table t; --`, "U&\"x\"", "null", "{a}", "->", "::", "\u0001", "\x7f",
}

// FuzzQuoteValue holds quoted values against the parser, in every place that takes
// one, next to a neighbour that must stay as it is.
func FuzzQuoteValue(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0 {
			return // no text that Postgres stores
		}
		quoted := string(compile.QuoteValue(nil, text))
		p, err := parse.Request("GET", "t", "and=(a.eq."+quoted+",b.in.("+quoted+",x))", http.Header{}, nil)
		if err != nil {
			t.Fatalf("%q: %v", quoted, err)
		}
		if len(p.Spec.Where) != 2 {
			t.Fatalf("%q makes %d filters", quoted, len(p.Spec.Where))
		}
		if got := p.Spec.Where[0].(q.Compare).Value; got != text {
			t.Errorf("eq: %q became %q", text, got)
		}
		if got := p.Spec.Where[1].(q.InList).Values; len(got) != 2 || got[0] != text || got[1] != "x" {
			t.Errorf("in: %q became %q", text, got)
		}
		if text == "" || text == "*" {
			return
		}
		p, err = parse.Request("GET", "t", "select="+quoted+":"+quoted+"-%3E"+quoted+"&order="+quoted, http.Header{}, nil)
		if err != nil {
			t.Fatalf("as a name, %q: %v", quoted, err)
		}
		field := p.Spec.Select[0].(q.Field)
		if field.Alias != text || field.Path.Column != text || field.Path.Steps[0].Key != text || p.Spec.OrderBy[0].Path.Column != text {
			t.Errorf("as a name: %q became %+v, %+v", text, field, p.Spec.OrderBy)
		}
	})
}

// FuzzQuoteIdent holds quoted names against a server: each names a column that
// comes back under that name.
func FuzzQuoteIdent(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	conn := connect(f, pgtest.NewDatabase(f).SuperDSN)
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" || len(name) > 63 || !utf8.ValidString(name) || strings.IndexByte(name, 0) >= 0 {
			return // no name that Postgres has
		}
		s, err := conn.Prepare(t.Context(), "", "select 1 as "+string(compile.QuoteIdent(nil, name))+", 2", nil)
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if len(s.Fields) != 2 || s.Fields[0].Name != name {
			t.Errorf("%q became %+v", name, s.Fields)
		}
	})
}
