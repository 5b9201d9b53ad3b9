package parse_test

import (
	"math/rand/v2"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// random makes queries out of names and values chosen to break a quoting rule.
type random struct{ *rand.Rand }

var oddTexts = []string{
	"", "a", "null", "NULL", "not.eq.1", "and(a.eq.1)", "or", "*", "%", "_", "a*b", " lead", "trail ", "\t", "a\nb",
	`"`, `""`, `\`, `\\`, `\"`, `"\`, `a"b`, `say "hi"`, `back\slash`, ",", "a,b", "(", ")", "()", "a.b", ".", ":", "::",
	"a::b", "->", "->>", "a->b", "{", "}", "{a,b}", `{"a","b"}`, "{{1},{2}}", "[1,2)", "+", "a+b", "&", "a&b=c", ";", "=", "?", "#",
	"/", "a/b", "%41", "%", "100%", "'", "''", "$1", "$$", "--", "/*", "; drop table t", "한글", "값, \"둘\"", "🚀", "e\u0301",
	"\u00a0", "\u2028", "\u0001", "\ufeff", "1", "-1", "0", "00", "1.5", "-", "a-b", "a - b", "count", "count()", "select", "true",
}

func (r random) text() string {
	s := oddTexts[r.IntN(len(oddTexts))]
	for r.IntN(3) == 0 {
		s += oddTexts[r.IntN(len(oddTexts))]
	}
	return s
}

// name is a text that can be a column's name.
func (r random) name() string {
	for {
		if s := r.text(); s != "" && s != "*" {
			return s
		}
	}
}

func (r random) table() string {
	for {
		if s := r.text(); s != "" && s != "." && s != ".." {
			return s
		}
	}
}

func (r random) path() query.Path {
	p := query.Path{Column: r.name()}
	for r.IntN(3) == 0 {
		s := query.Step{Text: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			s.Index, s.IsIndex = r.IntN(7)-3, true
		} else {
			s.Key = r.name()
		}
		p.Steps = append(p.Steps, s)
	}
	return p
}

var (
	plainOps = []query.Operator{
		query.OpNeq, query.OpIsDistinct, query.OpContains, query.OpContained, query.OpOverlaps,
		query.OpLeft, query.OpRight, query.OpNotRight, query.OpNotLeft, query.OpAdjacent,
	}
	quantifiedOps = []query.Operator{
		query.OpEq, query.OpGt, query.OpGte, query.OpLt, query.OpLte,
		query.OpLike, query.OpILike, query.OpMatch, query.OpIMatch,
	}
	searchOps = []query.Operator{query.OpTS, query.OpPlainTS, query.OpPhraseTS, query.OpWebTS}
	configs   = []string{"", "english", "my cfg", "설정$1"}
	casts     = []string{"text", "Int8", "double precision", "timestamp with time zone", "int array", "my_type$1", "형"}
)

func (r random) expr(depth int) query.Expr {
	var e query.Expr
	switch n := r.IntN(7); {
	case n == 0 && depth < 5:
		l := query.Logic{Connective: query.Connective(r.IntN(2))}
		for range 1 + r.IntN(3) {
			l.Exprs = append(l.Exprs, r.expr(depth+1))
		}
		e = l
	case n == 1:
		l := query.InList{Column: r.path()}
		for range r.IntN(4) {
			l.Values = append(l.Values, r.text())
		}
		e = l
	case n == 2:
		e = query.Is{Column: r.path(), State: query.State(r.IntN(5))}
	case n == 4:
		e = query.Compare{Column: r.path(), Op: searchOps[r.IntN(len(searchOps))], Config: configs[r.IntN(len(configs))], Value: r.text()}
	case n == 3:
		e = query.Compare{Column: r.path(), Op: plainOps[r.IntN(len(plainOps))], Value: r.text()}
	default:
		e = query.Compare{
			Column: r.path(), Op: quantifiedOps[r.IntN(len(quantifiedOps))],
			Quantifier: query.Quantifier(r.IntN(3)), Value: r.text(),
		}
	}
	if r.IntN(4) == 0 {
		e = query.Negation{Expr: e}
	}
	return e
}

func (r random) spec() query.Spec {
	s := query.Spec{
		From: r.table(), Count: query.Count(r.IntN(4)),
		Single: r.IntN(4) == 0, Head: r.IntN(4) == 0, HasLimit: r.IntN(2) == 0,
	}
	if r.IntN(4) == 0 {
		s.Schema = r.name()
	}
	s.Select = r.items(0)
	for range r.IntN(4) {
		s.Where = append(s.Where, r.expr(0))
	}
	for range r.IntN(3) {
		s.OrderBy = append(s.OrderBy, r.order(s.Select))
	}
	if s.HasLimit {
		s.Limit = r.Int64N(5)
	}
	if !s.HasLimit || s.Limit > 0 {
		s.Offset = r.Int64N(3)
	}
	return s
}
