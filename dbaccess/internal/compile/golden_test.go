package compile_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	q "github.com/twinpath/twinpath/dbaccess/query"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestGolden(t *testing.T) {
	t.Parallel()
	var names []string
	for _, c := range goldenCases() {
		names = append(names, c.name+".txt")
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := c.query.Err(); err != nil {
				t.Fatal(err)
			}
			got := render(t, c)
			file := filepath.Join("testdata", c.name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v (run with -update)", err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got), run with -update if this is meant:\n%s", file, diff)
			}
		})
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.Contains(names, filepath.Base(f)) {
			t.Errorf("%s belongs to no case", f)
		}
	}
}

func (c goldenCase) spec() q.Spec { return changed(c.query, c.change) }

// options are those under which a case is compiled: on its own, or with the catalog
// of the golden fixture.
func (c goldenCase) options(tb testing.TB) compile.SQLOptions {
	tb.Helper()
	o := compile.SQLOptions{Schema: "api", Clock: c.name == "table"}
	if c.fixture {
		o = compile.SQLOptions{Schema: "public", Catalog: fixture(tb), Guard: true}
	} else if s := c.spec(); compile.NeedsCatalog(&s) {
		o.Catalog = oneTable(tb)
	}
	o.Aggregates = c.aggregates
	return o
}

// oneTable is a catalog of the table that most cases read.
func oneTable(tb testing.TB) *catalog.Catalog {
	tb.Helper()
	c, err := catalog.Parse([]byte(`{"format": 1, "schemas": ["api"], "tables": [{"schema": "api", "name": "t", "kind": "table", "columns": [
		{"name": "a", "type": "integer"}, {"name": "b", "type": "text"}, {"name": "j", "type": "jsonb", "class": "jsonb"}]}]}`))
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// fixture is the catalog of the golden fixture.
func fixture(tb testing.TB) *catalog.Catalog {
	tb.Helper()
	text, err := os.ReadFile("../catalog/testdata/golden.json")
	if err != nil {
		tb.Fatal(err)
	}
	c, err := catalog.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func render(t *testing.T, c goldenCase) string {
	t.Helper()
	s := c.spec()
	r, err := compile.REST(&s)
	if err != nil {
		t.Fatal(err)
	}
	p, err := compile.SQL(&s, c.options(t))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n-- rest\n%s %s", c.reason, r.Method, r.Path)
	if r.RawQuery != "" {
		fmt.Fprintf(&b, "?%s", r.RawQuery)
	}
	fmt.Fprintf(&b, "\nAccept: %s\n", r.Accept)
	if r.Prefer != "" {
		fmt.Fprintf(&b, "Prefer: %s\n", r.Prefer)
	}
	if r.Profile != "" {
		fmt.Fprintf(&b, "%s: %s\n", r.ProfileHeader(), r.Profile)
	}
	if r.ContentType != "" {
		fmt.Fprintf(&b, "Content-Type: %s\n", r.ContentType)
	}
	for param := range strings.SplitSeq(r.RawQuery, "&") {
		text, err := url.QueryUnescape(param)
		if err != nil {
			t.Fatal(err)
		}
		if text != "" {
			fmt.Fprintf(&b, "  %s\n", text)
		}
	}
	if r.Body != nil {
		fmt.Fprintf(&b, "\n%s\n", r.Body)
	}
	statement(&b, "sql", p.Main)
	if p.Guard != nil {
		statement(&b, "guard", *p.Guard)
	}
	for _, set := range p.Settings {
		fmt.Fprintf(&b, "  with %s = %s\n", set.Name, set.Value)
	}
	if p.Plan != nil {
		statement(&b, "plan", *p.Plan)
	}
	return b.String()
}

func statement(b *strings.Builder, kind string, s compile.Statement) {
	fmt.Fprintf(b, "\n-- %s\n%s\n", kind, s.SQL)
	for i, a := range s.Args {
		fmt.Fprintf(b, "  $%d = %s\n", i+1, strconv.Quote(a))
	}
}

// constants are the values of package query's enumerations. TestCoverage finds
// out when one is missing.
var constants = map[string]any{
	"OpSelect": q.OpSelect, "OpInsert": q.OpInsert, "OpUpdate": q.OpUpdate, "OpDelete": q.OpDelete, "OpCall": q.OpCall,
	"ConflictFail": q.ConflictFail, "ConflictMerge": q.ConflictMerge, "ConflictIgnore": q.ConflictIgnore,
	"OpEq": q.OpEq, "OpNeq": q.OpNeq, "OpGt": q.OpGt, "OpGte": q.OpGte, "OpLt": q.OpLt, "OpLte": q.OpLte,
	"OpLike": q.OpLike, "OpILike": q.OpILike, "OpMatch": q.OpMatch, "OpIMatch": q.OpIMatch, "OpIsDistinct": q.OpIsDistinct,
	"OpContains": q.OpContains, "OpContained": q.OpContained, "OpOverlaps": q.OpOverlaps, "OpLeft": q.OpLeft,
	"OpRight": q.OpRight, "OpNotRight": q.OpNotRight, "OpNotLeft": q.OpNotLeft, "OpAdjacent": q.OpAdjacent,
	"OpTS": q.OpTS, "OpPlainTS": q.OpPlainTS, "OpPhraseTS": q.OpPhraseTS, "OpWebTS": q.OpWebTS,
	"One": q.One, "Any": q.Any, "All": q.All,
	"Null": q.Null, "NotNull": q.NotNull, "True": q.True, "False": q.False, "Unknown": q.Unknown,
	"ConnectAnd": q.ConnectAnd, "ConnectOr": q.ConnectOr,
	"NullsDefault": q.NullsDefault, "NullsFirst": q.NullsFirst, "NullsLast": q.NullsLast,
	"CountNone": q.CountNone, "CountExact": q.CountExact, "CountPlanned": q.CountPlanned, "CountEstimated": q.CountEstimated,
}

// Every node type and every value of an enumeration that package query exports
// has a golden, so that neither can be added on one side alone.
func TestCoverage(t *testing.T) {
	t.Parallel()
	types, consts := exported(t)
	used := map[any]bool{}
	for _, c := range goldenCases() {
		s := c.spec()
		collect(used, reflect.ValueOf(s))
	}
	for _, name := range types {
		if !used["type "+name] {
			t.Errorf("no golden has a query.%s", name)
		}
	}
	for _, name := range consts {
		v, known := constants[name]
		if !known {
			t.Errorf("query.%s is not among the constants of this test", name)
		} else if !used[v] {
			t.Errorf("no golden has query.%s", name)
		}
	}
}

// collect notes the types and the enumeration values in v.
func collect(used map[any]bool, v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		collect(used, v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			collect(used, v.Index(i))
		}
	case reflect.Struct:
		used["type "+v.Type().Name()] = true
		for _, f := range v.Fields() {
			collect(used, f)
		}
	case reflect.Uint8, reflect.String:
		used[v.Interface()] = true
	}
}

// exported reads package query's source for the types that are expressions or
// select items, and for its typed constants.
func exported(t *testing.T) (types, consts []string) {
	t.Helper()
	files, err := filepath.Glob("../../query/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source of package query: %v", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || d.Name.Name != "expr" && d.Name.Name != "item" {
					continue
				}
				if id := d.Recv.List[0].Type.(*ast.Ident); id.IsExported() {
					types = append(types, id.Name)
				}
			case *ast.GenDecl:
				if d.Tok != token.CONST {
					continue
				}
				for _, s := range d.Specs {
					for _, id := range s.(*ast.ValueSpec).Names {
						if id.IsExported() {
							consts = append(consts, id.Name)
						}
					}
				}
			}
		}
	}
	if len(types) < 7 || len(consts) < 30 {
		t.Fatalf("found %d types and %d constants in package query: the scan is broken", len(types), len(consts))
	}
	return types, consts
}
