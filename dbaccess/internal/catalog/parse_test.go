package catalog_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for name, doc := range map[string]string{
		"nothing":                "",
		"not JSON":               "{" + secret,
		"cut off":                `{"format": 1, "schemas": ["` + secret,
		"null":                   "null",
		"an array":               "[]",
		"no format":              `{"schemas": ["public"]}`,
		"another format":         `{"format": 2, "schemas": ["public"]}`,
		"no schemas":             `{"format": 1}`,
		"wrong type":             `{"format": 1, "schemas": ["public"], "tables": "` + secret + `"}`,
		"a table without a name": `{"format": 1, "schemas": ["public"], "tables": [{"schema": "public"}]}`,
		"a table twice":          `{"format": 1, "schemas": ["public"], "tables": [{"schema": "public", "name": "` + secret + `"}, {"schema": "public", "name": "` + secret + `"}]}`,
		"a column twice":         `{"format": 1, "schemas": ["public"], "tables": [{"schema": "public", "name": "a", "columns": [{"name": "` + secret + `"}, {"name": "` + secret + `"}]}]}`,
		"a lopsided foreign key": `{"format": 1, "schemas": ["public"], "foreign_keys": [{"constraint": "c", "table": "a", "columns": ["x"], "ref_table": "b", "ref_columns": []}]}`,
		"an empty view column":   `{"format": 1, "schemas": ["public"], "view_columns": [{}]}`,
		"an empty function":      `{"format": 1, "schemas": ["public"], "functions": [{}]}`,
		"an empty computed one":  `{"format": 1, "schemas": ["public"], "computed": [{}]}`,
	} {
		c, err := catalog.Parse([]byte(doc))
		if err == nil {
			t.Errorf("%s: parsed %v", name, c)
			continue
		}
		if text := err.Error(); strings.Contains(text, secret) || !strings.HasPrefix(text, "catalog: ") || !strings.Contains(text, "make it again") && !strings.Contains(text, "pass the") {
			t.Errorf("%s: error %q", name, text)
		}
	}
}

func TestParseOfLittle(t *testing.T) {
	t.Parallel()
	c, err := catalog.Parse([]byte(`{"format": 1, "server_version": 150018, "schemas": ["a", "b"], "from the future": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, c.Schemas()); diff != "" {
		t.Errorf("schemas (-want +got):\n%s", diff)
	}
	if c.ServerVersion() != 150018 {
		t.Errorf("server version %d", c.ServerVersion())
	}
	if rels := c.Relationships("a", "t"); len(rels) != 0 {
		t.Errorf("relationships %v", rels)
	}
	if _, ok := c.Table("a", "t"); ok {
		t.Error("a table from nowhere")
	}
}

// Views that lead to each other can't be made in Postgres, but can be written into
// a file. A column shown often multiplies the ways to show a key.
func TestParseOfTheImpossible(t *testing.T) {
	t.Parallel()
	var columns []string
	for _, of := range []string{"x", "y", "z"} {
		for _, as := range strings.Fields("a b c d e f g h i j k l m n o p") {
			columns = append(columns, `{"schema": "s", "view": "v", "column": "`+of+as+`", "from_schema": "s", "from_table": "t", "from_column": "`+of+`"}`)
		}
	}
	for _, from := range []string{"p q", "q p", "r r"} {
		view, table, _ := strings.Cut(from, " ")
		columns = append(columns, `{"schema": "s", "view": "`+view+`", "column": "c", "from_schema": "s", "from_table": "`+table+`", "from_column": "c"}`)
	}
	c, err := catalog.Parse([]byte(`{"format": 1, "schemas": ["s"],
		"foreign_keys": [{"constraint": "k", "schema": "s", "table": "t", "columns": ["x", "y", "z"],
			"ref_schema": "s", "ref_table": "u", "ref_columns": ["x", "y", "z"]}],
		"view_columns": [` + strings.Join(columns, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(c.Relationships("s", "v")); n != 64 {
		t.Errorf("%d ways to show the key, want the first 64", n)
	}
	for _, view := range []string{"p", "q", "r"} {
		if rels := c.Relationships("s", view); len(rels) > 0 {
			t.Errorf("%s has relationships: %v", view, describeAll(rels))
		}
	}
}

func FuzzParse(f *testing.F) {
	saved, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(saved)
	f.Add([]byte(`{"format": 1, "schemas": ["s"]}`))
	f.Add([]byte(`{"format":1,"schemas":["s"],"tables":[{"schema":"s","name":"v","kind":"view","columns":[{"name":"a","type":"int"}]},
		{"schema":"s","name":"j","kind":"table","primary_key":["a","b"]}],
		"foreign_keys":[{"constraint":"k","schema":"s","table":"j","columns":["a"],"ref_schema":"s","ref_table":"t","ref_columns":["a"],"unique":true},
		{"constraint":"l","schema":"s","table":"j","columns":["b"],"ref_schema":"s","ref_table":"j","ref_columns":["b"]}],
		"view_columns":[{"schema":"s","view":"v","column":"a","from_schema":"s","from_table":"j","from_column":"a"},
		{"schema":"s","view":"v","column":"a","from_schema":"s","from_table":"v","from_column":"a"}],
		"hidden_keys":[{"schema":"h","table":"t","columns":["a"]}],
		"functions":[{"schema":"s","name":"f","args":[{"type":"json"}],"returns":{"kind":"void"}}],
		"computed":[{"schema":"s","function":"f","from_schema":"s","from_table":"j","to_schema":"s","to_table":"t"}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		c, err := catalog.Parse(doc)
		if err != nil {
			return
		}
		saved := mustJSON(t, c)
		again, err := catalog.Parse(saved)
		if err != nil {
			t.Fatalf("what was saved can't be read: %v", err)
		}
		if diff := cmp.Diff(string(saved), string(mustJSON(t, again))); diff != "" {
			t.Fatalf("saving what was saved differs (-want +got):\n%s", diff)
		}
		for _, table := range tables(c) {
			for i := range table.Columns {
				if got, ok := table.Column(table.Columns[i].Name); !ok || got != &table.Columns[i] {
					t.Fatalf("column %q is not found", table.Columns[i].Name)
				}
			}
			rels := c.Relationships(table.Schema, table.Name)
			if diff := cmp.Diff(describeAll(rels), describeAll(again.Relationships(table.Schema, table.Name))); diff != "" {
				t.Fatalf("relationships (-want +got):\n%s", diff)
			}
			for _, r := range rels {
				// A resolution either finds a relationship that is listed, or says why not.
				got, err := c.Relationship(table.Schema, table.Name, r.Target.Name, r.Constraint)
				if err == nil && !slices.Contains(rels, got) {
					t.Fatalf("%s was resolved but is not listed", describe(got))
				}
			}
		}
		for fn := range c.Functions {
			var args []string
			for i := range fn.Args {
				args = append(args, fn.Args[i].Name)
			}
			// Its own arguments call a function, or are ambiguous, but never fit none.
			if _, err := c.Function(fn.Schema, fn.Name, catalog.Call{Args: args}); err != nil && strings.Contains(err.Error(), catalog.CodeNoFunction) {
				t.Fatalf("%s does not take its own arguments: %v", fn.Ident(), err)
			}
		}
	})
}
