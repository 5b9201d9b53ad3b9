package oracle_test

import (
	"encoding/json"
	"math/rand/v2"
)

// random draws from what a world has.
type random struct {
	*rand.Rand
	world *world
}

// newRandom is the source of the query of a seed.
func newRandom(w *world, seed uint64) *random {
	return &random{rand.New(rand.NewPCG(seed, 3)), w}
}

// one is one of several.
func one[T any](r *random, from []T) T { return from[r.IntN(len(from))] }

// chance is true once in n times.
func (r *random) chance(n int) bool { return r.IntN(n) == 0 }

// oddTexts break a rule of quoting somewhere, or look like something else.
var oddTexts = []string{
	"", " ", "null", "NULL", "true", "*", "%", "_", "a*b", " lead", "trail ", "\t", "a\nb", "\r\n", `"`, `""`, `\`, `\\`, `\"`, `a"b`, `back\slash`,
	",", "a,b", "(", ")", "(paren)", "a.b", ":", "::", "->", "{", "}", "{}", "{a,b}", `{"a","b"}`, "{NULL}", "[1,2)", "[1,5]", "empty", "+", "&", "a&b=c", ";", "=", "#", "%41", "'", "''",
	"$1", "--", "/*", "; drop table companies", "한글", "값, \"둘\"", "🚀", "e\u0301", "\u00a0", "\u2028", "\u0001", "\ufeff", "1", "-1", "0", "1.5", "1e400", "-", "not.eq.1", "eq.1", "in.(1)", "fat & cat", "fat | !rat",
}

// oddValues are those that a type reads, in one way or another, or nearly.
var oddValues = map[kind][]string{
	kindText:   {"T01", "t01", "Company 1", "fat cats", `Sells, (mostly) "quoted" goods`, "100%_sure*"},
	kindNumber: {"0", "-1", "1", "2", "1.5", "1e3", "NaN", "Infinity", "-Infinity", "9223372036854775807", "99999999999999999999", " 7 ", "0x10", "1_000", ""},
	kindBool:   {"true", "t", "off", "1", "maybe"},
	kindTime:   {"2026-01-05", "2026-01-05T00:00:00Z", "2026-01-05 12:00+09", "infinity", "-infinity", "epoch", "0044-03-15 BC", "2026-02-30", "1 day", "24:00:00", "soon"},
	kindArray:  {"{}", "{NULL}", "{late}", `{"amended, twice"}`, `{"x\"y",late}`, "{1,3}", "{{1,2},{3,4}}", "{buy}", "{1", "late"},
	kindRange:  {"empty", "(,)", "[1,5)", "[2,3]", "(5,)", "[5,1)", "[2026-01-01,2026-01-15)", "{[1,2),[3,4)}", "{}", "[1"},
	kindJSON:   {"{}", "[]", "null", "1", "1.0", `"str"`, `{"b":1}`, "{"},
	kindJSONB:  {"{}", "[]", "null", "1", "1.0", `"str"`, `{"form":"4"}`, `{"flags":{"late":true}}`, `{"b":1}`, "{"},
	kindSearch: {"fat", "cat & fat", "fat | rat", "!cat", "'a':1A", "(("},
	kindNet:    {"10.0.0.0/8", "::1", "192.168.0.1/24", "10.1.2.3", "10.1.2.300"},
	kindOther:  {"buy", "hodl", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", `\x00ff10`, "08:00:2b:01:02:03", "1010", "(0,0)", "<b/>"},
}

// value is a text to compare a column with: mostly one that is there.
func (r *random) value(c *column) string {
	switch n := r.IntN(20); {
	case n < 15 && len(c.texts) > 0:
		return one(r, c.texts)
	case n < 19 && (c.kind == kindText || r.chance(4)):
		return one(r, oddValues[c.kind])
	case c.kind == kindText || r.chance(6) || len(c.texts) == 0:
		return one(r, oddTexts)
	}
	return one(r, c.texts)
}

// array is an array literal of values of a column.
func (r *random) array(c *column) string {
	b := []byte{'{'}
	for i := range 1 + r.IntN(3) {
		if i > 0 {
			b = append(b, ',')
		}
		if r.chance(12) {
			b = append(b, "NULL"...)
			continue
		}
		b = append(b, '"')
		for _, x := range []byte(r.value(c)) {
			if x == '"' || x == '\\' {
				b = append(b, '\\')
			}
			b = append(b, x)
		}
		b = append(b, '"')
	}
	return string(append(b, '}'))
}

var oddJSON = []string{
	"null", "true", "0", "-1", "1.10", "1e400", "12345678901234567890.10", `""`, `"x"`, `"null"`, `"a\"b\\c"`, `"🚀"`, `"{}"`, `"2026-01-05"`, "[]", "[1,null]", `["a,b"]`, "{}", `{"a":1,"a":2}`, `{"n":1.0}`,
}

// payload is JSON to give a column: mostly what is there.
func (r *random) payload(t *table, c *column) json.RawMessage {
	if v, ok := one(r, t.rows)[c.Name]; ok && !r.chance(30) {
		return v
	}
	if r.chance(3) {
		b, err := json.Marshal(r.value(c))
		if err == nil {
			return b
		}
	}
	return json.RawMessage(one(r, oddJSON))
}
