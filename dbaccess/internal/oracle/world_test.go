package oracle_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// world is what queries are made of: the schema and some of its data.
type world struct {
	catalog   *catalog.Catalog
	tables    []*table // of the default schema
	byName    map[string]*table
	functions []*catalog.Function
}

type table struct {
	*catalog.Table
	columns []*column
	rows    []map[string]json.RawMessage // samples
}

type column struct {
	*catalog.Column
	kind   kind
	texts  []string // samples in text form, NULLs left out
	paths  [][]any  // ways into JSON samples
	leaves []string // what they lead to, as JSON
}

// kind is what values and operators a column goes with.
type kind string

const (
	kindText   kind = "text"
	kindNumber kind = "number"
	kindBool   kind = "bool"
	kindTime   kind = "time"
	kindArray  kind = "array"
	kindRange  kind = "range"
	kindJSON   kind = "json"
	kindJSONB  kind = "jsonb"
	kindSearch kind = "search"
	kindNet    kind = "net"
	kindOther  kind = "other" // equality and order at most
)

func kindOf(c *catalog.Column) kind {
	switch c.Class {
	case catalog.ClassArray:
		return kindArray
	case catalog.ClassJSON:
		return kindJSON
	case catalog.ClassJSONB:
		return kindJSONB
	case catalog.ClassRange, catalog.ClassMultirange:
		return kindRange
	case catalog.ClassTSVector:
		return kindSearch
	case catalog.ClassScalar:
	default:
		return kindOther
	}
	name, _, _ := strings.Cut(c.Type, "(")
	switch {
	case name == "text", strings.HasPrefix(name, "character"):
		return kindText
	case slices.Contains([]string{"smallint", "integer", "bigint", "numeric", "real", "double precision"}, name):
		return kindNumber
	case name == "boolean":
		return kindBool
	case strings.HasPrefix(name, "time"), name == "date", name == "interval":
		return kindTime
	case name == "inet", name == "cidr":
		return kindNet
	}
	return kindOther
}

// look reads the schema and samples of the data.
func look(tb testing.TB, db *pgtest.Database) *world {
	tb.Helper()
	conn := connect(tb, db.SuperDSN)
	w := &world{catalog: loadCatalog(tb, conn), byName: map[string]*table{}}
	for t := range w.catalog.Tables {
		if t.Schema != "public" {
			continue
		}
		from := `public."` + t.Name + `"`
		tab := &table{Table: t}
		for i := range t.Columns {
			c := &column{Column: &t.Columns[i], kind: kindOf(&t.Columns[i])}
			name := `"` + strings.ReplaceAll(c.Name, `"`, `""`) + `"`
			for _, r := range rows(tb, conn, "select "+name+"::text from "+from+" where "+name+" is not null order by 1 limit 12") {
				c.texts = append(c.texts, *r[0])
				if c.kind == kindJSON || c.kind == kindJSONB {
					paths, leaves := waysInto(*r[0])
					c.paths, c.leaves = append(c.paths, paths...), append(c.leaves, leaves...)
				}
			}
			tab.columns = append(tab.columns, c)
		}
		for _, r := range rows(tb, conn, "select row_to_json(t)::text from "+from+" t order by 1 limit 12") {
			var row map[string]json.RawMessage
			if err := json.Unmarshal([]byte(*r[0]), &row); err != nil {
				tb.Fatal(err)
			}
			tab.rows = append(tab.rows, row)
		}
		w.tables = append(w.tables, tab)
		w.byName[t.Name] = tab
	}
	for f := range w.catalog.Functions {
		if f.Schema == "public" {
			w.functions = append(w.functions, f)
		}
	}
	if len(w.tables) < 10 || len(w.functions) < 10 {
		tb.Fatalf("the fixture has %d tables and %d functions: is it the golden one?", len(w.tables), len(w.functions))
	}
	return w
}

// waysInto lists the paths to the values inside of a JSON text, and those values.
func waysInto(text string) (ways [][]any, leaves []string) {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return nil, nil // a number beyond float64
	}
	var walk func(v any, way []any)
	walk = func(v any, way []any) {
		if len(way) > 0 {
			ways = append(ways, slices.Clone(way))
			b, _ := json.Marshal(v) // it was JSON before
			leaves = append(leaves, string(b))
		}
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				walk(v[k], append(way, k))
			}
		case []any:
			for i := range v {
				walk(v[i], append(way, i))
			}
		}
	}
	walk(v, nil)
	return ways, leaves
}
