package parse_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/parse"
	q "github.com/twinpath/twinpath/dbaccess/query"
)

func compare(column string, op q.Operator, value string) q.Expr {
	return q.Compare{Column: q.Path{Column: column}, Op: op, Value: value}
}

func eq(column, value string) q.Expr { return compare(column, q.OpEq, value) }

// Query strings as people write them, and what PostgREST takes them for.
func TestQuery(t *testing.T) {
	t.Parallel()
	type spec = q.Spec
	where := func(e ...q.Expr) spec { return spec{Where: e} }
	order := func(o ...q.Order) spec { return spec{OrderBy: o} }
	in := func(values ...string) spec { return where(q.InList{Column: q.Path{Column: "a"}, Values: values}) }
	for _, tc := range []struct {
		query string
		want  spec
	}{
		{"", spec{}},
		{"?", spec{}},
		{"select", spec{}},
		{"select=*", spec{}},
		{"select=%22*%22", spec{}},
		{"unknown", spec{}}, // no value, no filter
		{"columns=a,b&on_conflict=a", spec{}},

		// Filters of their own: raw to the end.
		{"a=eq.1", where(eq("a", "1"))},
		{"a=eq.", where(eq("a", ""))},
		{"a=eq.null", where(eq("a", "null"))},
		{"a=eq.b.c,d(e)", where(eq("a", "b.c,d(e)"))},
		{`a=eq."x"`, where(eq("a", `"x"`))},
		{"a=eq.x+y%2Bz", where(eq("a", "x y+z"))},
		{"a=eq.100%&b=eq.%zz", where(eq("a", "100%"), eq("b", "%zz"))},
		{"a=eq.1&a=eq.2", where(eq("a", "1"), eq("a", "2"))},
		{"a=eq.1;b=eq.2", where(eq("a", "1"), eq("b", "2"))},
		{"a=eq.b=c", where(eq("a", "b=c"))},
		{"a=neq.1", where(compare("a", q.OpNeq, "1"))},
		{"a=gte.1&a=gt.1&a=lte.1&a=lt.1", where(compare("a", q.OpGte, "1"), compare("a", q.OpGt, "1"), compare("a", q.OpLte, "1"), compare("a", q.OpLt, "1"))},
		{"a=like.*x*", where(compare("a", q.OpLike, "*x*"))},
		{"a=isdistinct.null", where(compare("a", q.OpIsDistinct, "null"))},
		{"a=not.eq.1", where(q.Not(eq("a", "1")))},
		{"a=eq(any).{1,2}", where(q.Compare{Column: q.Path{Column: "a"}, Op: q.OpEq, Quantifier: q.Any, Value: "{1,2}"})},
		{"a=not.like(all).{x}", where(q.Not(q.Compare{Column: q.Path{Column: "a"}, Op: q.OpLike, Quantifier: q.All, Value: "{x}"}))},
		{"a=is.null", where(q.IsNull("a"))},
		{"a=is.NULL", where(q.IsNull("a"))},
		{"a=is.nullable", where(q.IsNull("a"))}, // what follows is ignored
		{"a=is.not_null", where(q.Is{Column: q.Path{Column: "a"}, State: q.NotNull})},
		{"a=not.is.null", where(q.IsNotNull("a"))},
		{"a=is.True&a=is.FALSE&a=is.unknown", where(q.IsTrue("a"), q.IsFalse("a"), q.IsUnknown("a"))},
		{"not=eq.1", where(eq("not", "1"))},

		// In-lists.
		{"a=in.(1,2)", in("1", "2")},
		{"a=in.(1,2)and more", in("1", "2")},
		{"a=in.()", in()},
		{`a=in.("")`, in("")},
		{"a=in.(,)", in("", "")},
		{"a=in.( x, y )", in("x", " y ")}, // blanks count but for those after the parenthesis
		{`a=in.("a,b","c)d","e\"\\f")`, in("a,b", "c)d", `e"\f`)},
		{`a=in.("a"b,c)`, in(`"a"b`, "c")}, // not a quoted element
		{`a=in.( "a", "b")`, in("a", ` "b"`)},
		{`a=in.("a)`, in(`"a`)},
		{"a=in.(null)", in("null")},

		// Names.
		{"a b=eq.1", where(eq("a b", "1"))},
		{"%20a%20=eq.1", where(eq("a", "1"))},
		{"a-b=eq.1", where(eq("a-b", "1"))},
		{"한글$1=eq.1", where(eq("한글$1", "1"))},
		{`"a.b"=eq.1`, where(eq("a.b", "1"))},
		{`"a\"b\\c"=eq.1`, where(eq(`a"b\c`, "1"))},
		{`" a"=eq.1`, where(eq(" a", "1"))},
		{"a:ignored=eq.1", where(eq("a", "1"))},

		// JSON paths.
		{"a->b=eq.1", where(q.Eq(q.JSON("a", "b"), 1))},
		{"a->b->>c=eq.1", where(q.Eq(q.JSONText("a", "b", "c"), 1))},
		{"a->0->>-1=eq.1", where(q.Eq(q.JSONText("a", 0, -1), 1))},
		{`a->"0"=eq.1`, where(q.Eq(q.JSON("a", "0"), 1))},
		{"a->0b=eq.1", where(q.Eq(q.JSON("a", "0b"), 1))},
		{"a->b-c=eq.1", where(q.Eq(q.JSON("a", "b-c"), 1))},
		{"a->!@$%25^*_=eq.1", where(q.Eq(q.JSON("a", "!@$%^*_"), 1))},

		// Logic.
		{"or=(a.eq.1,b.eq.2)", where(q.Or(eq("a", "1"), eq("b", "2")))},
		{"and=(a.eq.1,b.eq.2)", where(eq("a", "1"), eq("b", "2"))},
		{"not.and=(a.eq.1,b.eq.2)", where(q.Not(q.And(eq("a", "1"), eq("b", "2"))))},
		{"not.or=(a.eq.1)", where(q.Not(q.Or(eq("a", "1"))))},
		{"or=( a.eq.1 , b.eq.2 )", where(q.Or(eq("a", "1 "), eq("b", "2 ")))},
		{"or=(a.eq.1)trailing", where(q.Or(eq("a", "1")))},
		{"or=(and(a.eq.1,b.eq.2),not.or(c.eq.3))", where(q.Or(q.And(eq("a", "1"), eq("b", "2")), q.Not(q.Or(eq("c", "3")))))},
		{"or=(a.not.eq.1,not.eq.2)", where(q.Or(q.Not(eq("a", "1")), eq("not", "2")))},
		{"or=(and.eq.1,or.is.null)", where(q.Or(eq("and", "1"), q.IsNull("or")))},
		{"and=.eq.5", where(eq("and", "5"))},
		{`or=(a.eq."x,y)",b.eq."\"")`, where(q.Or(eq("a", "x,y)"), eq("b", `"`)))},
		{`or=(a.eq."x"y)`, where(q.Or(eq("a", `"x"y`)))},
		{"or=(a.cs.{1,2},b.eq.1)", where(q.Or(compare("a", q.OpContains, "{1,2}"), eq("b", "1")))},
		{"or=(a.in.(1,2),b.eq.1)", where(q.Or(q.InList{Column: q.Path{Column: "a"}, Values: []string{"1", "2"}}, eq("b", "1")))},
		{"or=(a->b.eq.1,a->0.eq.2)", where(q.Or(q.Eq(q.JSON("a", "b"), 1), q.Eq(q.JSON("a", 0), 2)))},
		{"a=eq.1&or=(b.eq.1)&or=(b.eq.2)", where(eq("a", "1"), q.Or(eq("b", "1")), q.Or(eq("b", "2")))},

		// Select.
		{"select=a,b", spec{Select: []q.Item{q.Col("a"), q.Col("b")}}},
		{"select=a , b", spec{Select: []q.Item{q.Col("a"), q.Col("b")}}},
		{"select=*,a", spec{Select: []q.Item{q.Star{}, q.Col("a")}}},
		{"select=x:a::text", spec{Select: []q.Item{q.Col("a").As("x").To("text")}}},
		{"select=a::double precision", spec{Select: []q.Item{q.Col("a").To("double precision")}}},
		{"select=x y:a->b->>c::int", spec{Select: []q.Item{q.Col(q.JSONText("a", "b", "c")).As("x y").To("int")}}},
		{"select=a->0,count,a->b::text", spec{Select: []q.Item{q.Col(q.JSON("a", 0)), q.Col("count"), q.Col(q.JSON("a", "b")).To("text")}}},
		{`select="a,b":"c:d"`, spec{Select: []q.Item{q.Col("c:d").As("a,b")}}},
		{"select=a)ignored", spec{Select: []q.Item{q.Col("a")}}},
		{"select=a&select=b", spec{Select: []q.Item{q.Col("a")}}},

		// Order.
		{"order=a", order(q.Asc("a"))},
		{"order=a.asc,b.desc", order(q.Asc("a"), q.Desc("b"))},
		{"order=a.nullsfirst,b.desc.nullslast", order(q.Asc("a").NullsFirst(), q.Desc("b").NullsLast())},
		{"order=a->b.desc, c d", order(q.Desc(q.JSON("a", "b")), q.Asc("c d"))},
		{`order="a.desc".desc`, order(q.Desc("a.desc"))},
		{"order=a&order=b", order(q.Asc("a"))},
	} {
		t.Run(tc.query, func(t *testing.T) {
			t.Parallel()
			p, err := parse.Request("GET", "t", tc.query, http.Header{}, nil)
			if err != nil {
				t.Fatalf("%+v", *err.(*parse.Error))
			}
			tc.want.From = "t"
			if diff := cmp.Diff(tc.want, p.Spec); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	const refused = -2
	for _, tc := range []struct {
		query, header string
		limit, offset int64 // limit -1: none; refused: 416
	}{
		{"", "", -1, 0},
		{"limit=3", "", 3, 0},
		{"limit=3&offset=4", "", 3, 4},
		{"offset=4", "", -1, 4},
		{"limit=1&limit=2&offset=3&offset=4", "", 2, 4},
		{"limit=0", "", 0, 0},
		{"limit=0", "2-5", 0, 0},
		{"limit=-1", "", refused, 0},
		{"limit=0&offset=5", "", refused, 0},
		{"limit=+5", "", 5, 0},
		{"limit=abc", "", -1, 0},
		{"limit=", "", -1, 0},
		{"offset=abc", "", -1, 0},
		{"offset=-5", "", -1, 0},
		{"limit=10&offset=-5", "", 5, 0}, // rows -5 to 4
		{"limit=3&offset=-5", "", refused, 0},
		{"limit=abc&offset=5", "", refused, 0},
		{"", "2-5", 4, 2},
		{"", "2-", -1, 2},
		{"", "5-2", refused, 0},
		{"", "items=2-5", -1, 0},
		{"", "bytes", -1, 0},
		{"limit=2", "1-9", 1, 1},
		{"limit=2&offset=3", "1-9", 2, 3},
		{"limit=2&offset=3", "10-19", refused, 0},
		{"limit=9223372036854775807&offset=9223372036854775807", "", 1 << 61, 1 << 61},
	} {
		t.Run(tc.query+" "+tc.header, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			if tc.header != "" {
				h.Set("Range", tc.header)
			}
			p, err := parse.Request("GET", "t", tc.query, h, nil)
			if tc.limit == refused {
				if e, ok := err.(*parse.Error); !ok || e.Status != 416 || e.Code != "PGRST103" {
					t.Fatalf("got %+v, error %v, want status 416", p, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			s := p.Spec
			if tc.limit >= 1<<60 { // saturated
				if !s.HasLimit || s.Limit < tc.limit/2 || s.Offset < tc.offset/2 {
					t.Errorf("got limit %d, offset %d", s.Limit, s.Offset)
				}
				return
			}
			if s.HasLimit != (tc.limit >= 0) || s.HasLimit && s.Limit != tc.limit || s.Offset != tc.offset {
				t.Errorf("got limit %v %d, offset %d; want %d, %d", s.HasLimit, s.Limit, s.Offset, tc.limit, tc.offset)
			}
		})
	}
	p, err := parse.Request("HEAD", "t", "", http.Header{"Range": {"2-5"}}, nil)
	if err != nil || p.Spec.HasLimit || p.Spec.Offset != 0 {
		t.Errorf("HEAD with a Range: got %+v, error %v; want the range ignored", p, err)
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	header := func(kv ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(kv); i += 2 {
			h.Add(kv[i], kv[i+1])
		}
		return h
	}
	for name, tc := range map[string]struct {
		header  http.Header
		want    parse.Parsed
		applied string
	}{
		"none":               {header(), parse.Parsed{}, ""},
		"profile":            {header("Accept-Profile", "x"), parse.Parsed{Profile: true, Spec: q.Spec{Schema: "x"}}, ""},
		"empty profile":      {header("Accept-Profile", ""), parse.Parsed{Profile: true}, ""},
		"writer's profile":   {header("Content-Profile", "x"), parse.Parsed{}, ""},
		"any":                {header("Accept", "*/*"), parse.Parsed{}, ""},
		"empty accept":       {header("Accept", ""), parse.Parsed{}, ""},
		"array":              {header("Accept", "application/vnd.pgrst.array+json"), parse.Parsed{}, ""},
		"object":             {header("Accept", "application/vnd.pgrst.object+json"), parse.Parsed{ContentType: parse.ContentObject, Spec: q.Spec{Single: true}}, ""},
		"object, short":      {header("Accept", "application/vnd.pgrst.object"), parse.Parsed{ContentType: parse.ContentObject, Spec: q.Spec{Single: true}}, ""},
		"first accept":       {header("Accept", "application/json", "Accept", "text/html"), parse.Parsed{}, ""},
		"browser":            {header("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"), parse.Parsed{}, ""},
		"by quality":         {header("Accept", "application/json;q=0.5, application/vnd.pgrst.object+json"), parse.Parsed{ContentType: parse.ContentObject, Spec: q.Spec{Single: true}}, ""},
		"by specificity":     {header("Accept", "*/*, application/vnd.pgrst.object+json"), parse.Parsed{ContentType: parse.ContentObject, Spec: q.Spec{Single: true}}, ""},
		"exact":              {header("Prefer", "count=exact"), parse.Parsed{Prefer: parse.Prefer{Count: "exact"}, Spec: q.Spec{Count: q.CountExact}}, "count=exact"},
		"planned":            {header("Prefer", "count=planned"), parse.Parsed{Prefer: parse.Prefer{Count: "planned"}, Spec: q.Spec{Count: q.CountPlanned}}, "count=planned"},
		"estimated":          {header("Prefer", "count=estimated"), parse.Parsed{Prefer: parse.Prefer{Count: "estimated"}, Spec: q.Spec{Count: q.CountEstimated}}, "count=estimated"},
		"unknown preference": {header("Prefer", "count=some, respond-async"), parse.Parsed{}, ""},
		"first preference": {
			header("Prefer", "timezone=Asia/Seoul ,tx=rollback", "Prefer", "tx=commit,count=exact , handling=lenient,return=minimal"),
			parse.Parsed{Prefer: parse.Prefer{Count: "exact", Transaction: "rollback", Handling: "lenient", Timezone: "Asia/Seoul"}, Spec: q.Spec{Count: q.CountExact, TimeZone: "Asia/Seoul"}},
			"count=exact, tx=rollback, handling=lenient, timezone=Asia/Seoul",
		},
		"strict": {
			header("Prefer", "handling=strict,max-affected=5,missing=null,resolution=merge-duplicates"),
			parse.Parsed{Prefer: parse.Prefer{Handling: "strict"}}, "handling=strict",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := parse.Request("GET", "/t", "", tc.header, nil)
			if err != nil {
				t.Fatal(err)
			}
			tc.want.Spec.From = "t"
			if tc.want.ContentType == "" {
				tc.want.ContentType = parse.ContentArray
			}
			if diff := cmp.Diff(&tc.want, p); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := p.Prefer.Applied(); got != tc.applied {
				t.Errorf("Preference-Applied: got %q, want %q", got, tc.applied)
			}
		})
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"t": "t", "/t": "t", "Odd Table": "Odd Table", "/Odd%20Table": "Odd Table", "/a%2Fb": "a/b", "/rpc": "rpc", "/a+b": "a+b",
	} {
		p, err := parse.Request("GET", path, "", http.Header{}, nil)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if p.Spec.From != want {
			t.Errorf("%s: table %q, want %q", path, p.Spec.From, want)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	accept := func(v string) http.Header { return http.Header{"Accept": {v}} }
	for name, tc := range map[string]struct {
		method, path, query string
		header              http.Header
		body                string
		want                parse.Error // Message and Details may be parts
	}{
		"operator":              {query: "a=equals.1", want: parse.Error{Status: 400, Code: "PGRST100", Message: "failed to parse filter (equals.1)"}},
		"no operator":           {query: "a=1", want: parse.Error{Status: 400, Code: "PGRST100"}},
		"quantified neq":        {query: "a=neq(any).{1}", want: parse.Error{Status: 400, Code: "PGRST100"}},
		"upper case":            {query: "a=EQ.1", want: parse.Error{Status: 400, Code: "PGRST100"}},
		"is":                    {query: "a=is.5", want: parse.Error{Status: 400, Code: "PGRST100", Message: `"failed to parse filter (is.5)" (line 1, column 4)`}},
		"in without list":       {query: "a=in.1", want: parse.Error{Status: 400, Code: "PGRST100"}},
		"in without end":        {query: "a=in.(1,2", want: parse.Error{Status: 400, Code: "PGRST100", Details: "unexpected end of input"}},
		"key":                   {query: "%3A=eq.1", want: parse.Error{Status: 400, Code: "PGRST100"}},
		"key without end":       {query: `"a=eq.1`, want: parse.Error{Status: 400, Code: "PGRST100"}},
		"arrow without key":     {query: "a->=eq.1", want: parse.Error{Status: 400, Code: "PGRST100"}},
		"negative key":          {query: "a->-x=eq.1", want: parse.Error{Status: 400, Code: "PGRST100"}},
		"logic without end":     {query: "or=(id.eq.1", want: parse.Error{Status: 400, Code: "PGRST100", Message: `"failed to parse logic tree ((id.eq.1)" (line 1, column 11)`}},
		"empty logic":           {query: "or=()", want: parse.Error{Status: 400, Code: "PGRST100"}},
		"xor":                   {query: "or=(not.xor(a.eq.1))", want: parse.Error{Status: 400, Code: "PGRST100"}},
		"braces in braces":      {query: "or=(a.cs.{{1},{2}},b.eq.1)", want: parse.Error{Status: 400, Code: "PGRST100"}},
		"order":                 {query: "order=id.down", want: parse.Error{Status: 400, Code: "PGRST100", Message: "failed to parse order (id.down)"}},
		"order, semicolon":      {query: "order=a%3Bdrop", want: parse.Error{Status: 400, Code: "PGRST100", Message: `"failed to parse order (a;drop)" (line 1, column 2)`}},
		"order, nulls":          {query: "order=id.asc.nulls", want: parse.Error{Status: 400, Code: "PGRST100"}},
		"order, nothing":        {query: "order=", want: parse.Error{Status: 400, Code: "PGRST100"}},
		"select, hint":          {query: "select=a!b", want: parse.Error{Status: 400, Code: "PGRST100"}},
		"select, brackets":      {query: "select=a::text[]", want: parse.Error{Status: 400, Code: "PGRST100"}},
		"select, comma":         {query: "select=a,", want: parse.Error{Status: 400, Code: "PGRST100"}},
		"columns":               {query: "columns=", want: parse.Error{Status: 400, Code: "PGRST100"}},
		"cast":                  {query: "select=a::int foo", want: parse.Error{Status: 400, Code: "42601"}},
		"empty name":            {query: `""=eq.1`, want: parse.Error{Status: 400, Code: "42601", Message: "zero-length delimited identifier"}},
		"empty key's name":      {query: `select=a->""`, want: parse.Error{Status: 400, Code: "42601"}},
		"embedded filter":       {query: "b.c=eq.1", want: parse.Error{Status: 400, Code: "PGRST108", Message: "'b' is not an embedded resource in this request"}},
		"embedded logic":        {query: "b.or=(c.eq.1)", want: parse.Error{Status: 400, Code: "PGRST108"}},
		"embedded order":        {query: "b.order=c", want: parse.Error{Status: 400, Code: "PGRST108"}},
		"embedded limit":        {query: "b.limit=1", want: parse.Error{Status: 400, Code: "PGRST108"}},
		"limit":                 {query: "limit=-1", want: parse.Error{Status: 416, Code: "PGRST103", Message: "Requested range not satisfiable", Details: "Limit should be greater than or equal to zero."}},
		"huge limit":            {query: "limit=99999999999999999999", want: parse.Error{Status: 400, Code: "22003", Message: `value "99999999999999999999" is out of range for type bigint`}},
		"huge index":            {query: "a->99999999999999999999=eq.1", want: parse.Error{Status: 400, Code: "22003"}},
		"range":                 {header: http.Header{"Range": {"5-2"}}, want: parse.Error{Status: 416, Code: "PGRST103", Details: "The lower boundary must be lower than or equal to the upper boundary in the Range header."}},
		"strict":                {header: http.Header{"Prefer": {"handling=strict, a, b=c"}}, want: parse.Error{Status: 400, Code: "PGRST122", Message: "Invalid preferences given with handling=strict", Details: "Invalid preferences: a, b=c"}},
		"media type":            {header: accept("text/html;level=1, image/png"), want: parse.Error{Status: 406, Code: "PGRST107", Message: "None of these media types are available: text/html, image/png"}},
		"zero byte":             {query: "a=eq.%00", want: parse.Error{Status: 400, Code: "22021"}},
		"invalid UTF-8":         {query: "a=eq.%ff", want: parse.Error{Status: 400, Code: "22021"}},
		"zero byte in path":     {path: "a%00", want: parse.Error{Status: 400, Code: "22021"}},
		"zero byte in profile":  {header: http.Header{"Accept-Profile": {"a\x00"}}, want: parse.Error{Status: 400, Code: "22021"}},
		"deep path":             {path: "a/b", want: parse.Error{Status: 404, Code: "PGRST125", Message: "Invalid path specified in request URL"}},
		"trailing slash":        {path: "a/", want: parse.Error{Status: 404, Code: "PGRST125"}},
		"function without name": {path: "rpc/", want: parse.Error{Status: 404, Code: "PGRST202"}},
		"function of dots":      {path: "rpc/%2e", want: parse.Error{Status: 404, Code: "PGRST202"}},
		"dots":                  {path: "..", want: parse.Error{Status: 404, Code: "PGRST125"}},
		"method":                {method: "TRACE", want: parse.Error{Status: 405, Code: "PGRST117", Message: "Unsupported HTTP method: TRACE"}},
		"method of a function":  {method: "DELETE", path: "rpc/f", want: parse.Error{Status: 405, Code: "PGRST101", Message: "Cannot use the DELETE method on RPC"}},

		// Served by PostgREST, not here.
		"row as a column":     {query: `"*"=eq.1`, want: parse.Error{Status: 501}},
		"row with alias":      {query: `select=x:"*"`, want: parse.Error{Status: 501}},
		"options":             {method: "OPTIONS", want: parse.Error{Status: 501, Message: "OPTIONS"}},
		"root":                {path: "/", want: parse.Error{Status: 501, Message: "OpenAPI"}},
		"body":                {body: "{}", want: parse.Error{Status: 501, Message: "a body on a read"}},
		"csv":                 {header: accept("text/csv"), want: parse.Error{Status: 501, Message: "CSV"}},
		"geojson":             {header: accept("application/geo+json"), want: parse.Error{Status: 501, Message: "GeoJSON"}},
		"plan":                {header: accept("application/vnd.pgrst.plan+json"), want: parse.Error{Status: 501, Message: "execution plan"}},
		"stripped object":     {header: accept("application/vnd.pgrst.object+json;nulls=stripped"), want: parse.Error{Status: 501, Message: "nulls=stripped"}},
		"stripped array":      {header: accept("application/vnd.pgrst.array+json;nulls=stripped"), want: parse.Error{Status: 501, Message: "nulls=stripped"}},
		"deep logic":          {query: "or=" + strings.Repeat("(or", 64) + "(a.eq.1)" + strings.Repeat(")", 64), want: parse.Error{Status: 501, Message: "64 levels"}},
		"deeper logic":        {query: "and=" + strings.Repeat("(and", 100_000), want: parse.Error{Status: 501, Message: "64 levels"}},
		"long query":          {query: strings.Repeat("a", 1<<20+1), want: parse.Error{Status: 414}},
		"long path":           {path: strings.Repeat("a", 4<<10+1), want: parse.Error{Status: 414}},
		"grammar comes first": {query: "select=a,b(c)&d=nope.1", want: parse.Error{Status: 400, Code: "PGRST100"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.method == "" {
				tc.method = "GET"
			}
			if tc.path == "" {
				tc.path = "t"
			}
			if tc.header == nil {
				tc.header = http.Header{}
			}
			p, err := parse.Request(tc.method, tc.path, tc.query, tc.header, []byte(tc.body))
			got, ok := err.(*parse.Error)
			if !ok {
				t.Fatalf("got %+v, error %v; want status %d", p, err, tc.want.Status)
			}
			if got.Status != tc.want.Status || got.Code != tc.want.Code ||
				!strings.Contains(got.Message, tc.want.Message) || !strings.Contains(got.Details, tc.want.Details) {
				t.Errorf("got %+v, want %+v", *got, tc.want)
			}
		})
	}
}

// The deepest tree that is taken, either way of writing it.
func TestDeepestLogic(t *testing.T) {
	t.Parallel()
	for _, query := range []string{
		"or=" + strings.Repeat("(or", 63) + "(a.eq.1)" + strings.Repeat(")", 63),
		"and=" + strings.Repeat("(or", 64) + "(a.eq.1)" + strings.Repeat(")", 64),
	} {
		if _, err := parse.Request("GET", "t", query, http.Header{}, nil); err != nil {
			t.Error(err)
		}
	}
}

// What goes into a log says nothing of what was asked.
func TestErrorHasNoValues(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"a=s3cret.1", "s3cret.a=eq.1", "limit=99999999999999999999", "select=s3cret(a"} {
		_, err := parse.Request("GET", "t", query, http.Header{}, nil)
		if err == nil {
			t.Errorf("%s: no error", query)
		} else if text := err.Error(); strings.Contains(text, "s3cret") || strings.Contains(text, "999") {
			t.Errorf("%s: the error tells a value: %s", query, text)
		}
	}
}
