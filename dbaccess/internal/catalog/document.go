package catalog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Format is the version of the document that [Parse] reads and [Catalog.JSON]
// writes.
const Format = 1

// document is what the statement of SQL answers and JSON saves.
type document struct {
	Format        int              `json:"format"`
	ServerVersion int              `json:"server_version,omitempty"`
	Schemas       []string         `json:"schemas"`
	ExtraSchemas  []string         `json:"extra_schemas,omitempty"`
	Tables        []Table          `json:"tables,omitempty"`
	ForeignKeys   []foreignKey     `json:"foreign_keys,omitempty"`
	ViewColumns   []viewColumn     `json:"view_columns,omitempty"`
	HiddenKeys    []hiddenKey      `json:"hidden_keys,omitempty"`
	Functions     []Function       `json:"functions,omitempty"`
	Computed      []computedRecord `json:"computed,omitempty"`
}

// foreignKey is a foreign key of any schema: views of an exposed schema may show
// tables of others.
type foreignKey struct {
	Constraint string   `json:"constraint"`
	Schema     string   `json:"schema"`
	Table      string   `json:"table"`
	Columns    []string `json:"columns"`
	RefSchema  string   `json:"ref_schema"`
	RefTable   string   `json:"ref_table"`
	RefColumns []string `json:"ref_columns"`
	Unique     bool     `json:"unique,omitempty"` // Columns are a primary or unique key
}

func (k *foreignKey) origin() Ident { return Ident{k.Schema, k.Table} }
func (k *foreignKey) target() Ident { return Ident{k.RefSchema, k.RefTable} }

// viewColumn is a column that a view passes on unchanged from a table or another
// view.
type viewColumn struct {
	Schema     string `json:"schema"`
	View       string `json:"view"`
	Column     string `json:"column"`
	FromSchema string `json:"from_schema"`
	FromTable  string `json:"from_table"`
	FromColumn string `json:"from_column"`
}

func (v *viewColumn) view() Ident { return Ident{v.Schema, v.View} }
func (v *viewColumn) from() Ident { return Ident{v.FromSchema, v.FromTable} }

// hiddenKey is the primary key of a table outside the exposed schemas.
type hiddenKey struct {
	Schema  string   `json:"schema"`
	Table   string   `json:"table"`
	Columns []string `json:"columns"`
}

// computedRecord is a function from a row of one relation to rows of another.
type computedRecord struct {
	Schema     string `json:"schema"`
	Function   string `json:"function"`
	FromSchema string `json:"from_schema"`
	FromTable  string `json:"from_table"`
	ToSchema   string `json:"to_schema"`
	ToTable    string `json:"to_table"`
	ToOne      bool   `json:"to_one,omitempty"`
}

// Parse reads the answer of the statement of [SQL], or what [Catalog.JSON] wrote.
// Errors never quote the document.
func Parse(data []byte) (*Catalog, error) {
	doc := &document{}
	if err := json.Unmarshal(data, doc); err != nil {
		return nil, parseError(err)
	}
	if doc.Format != Format {
		return nil, fmt.Errorf("catalog: the document has format %d, this program reads format %d: make it again with this version", doc.Format, Format)
	}
	if err := doc.validate(); err != nil {
		return nil, fmt.Errorf("catalog: the document is damaged, make it again: %w", err)
	}
	doc.sort()
	return index(doc), nil
}

// parseError says where the JSON is wrong without its content.
func parseError(err error) error {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("catalog: the document is not JSON at byte %d: pass the one text column of the catalog statement, or a file written by Catalog.JSON", syntax.Offset)
	case errors.As(err, &mismatch):
		return fmt.Errorf("catalog: the document's field %q has the wrong type at byte %d: make it again with this version", mismatch.Field, mismatch.Offset)
	}
	return errors.New("catalog: the document can't be read: make it again with this version")
}

// validate checks what the index relies on.
func (d *document) validate() error {
	if len(d.Schemas) == 0 {
		return errors.New("no exposed schema")
	}
	tables := make(map[Ident]bool, len(d.Tables))
	for i := range d.Tables {
		t := &d.Tables[i]
		if t.Name == "" || t.Schema == "" || tables[t.Ident()] {
			return fmt.Errorf("table %d has no name or one that was there before", i)
		}
		tables[t.Ident()] = true
		columns := make(map[string]bool, len(t.Columns))
		for j := range t.Columns {
			name := t.Columns[j].Name
			if name == "" || columns[name] {
				return fmt.Errorf("column %d of table %d has no name or one that was there before", j, i)
			}
			columns[name] = true
		}
	}
	for i := range d.ForeignKeys {
		k := &d.ForeignKeys[i]
		if k.Constraint == "" || k.Table == "" || k.RefTable == "" || len(k.Columns) == 0 || len(k.Columns) != len(k.RefColumns) {
			return fmt.Errorf("foreign key %d is incomplete", i)
		}
	}
	for i := range d.ViewColumns {
		v := &d.ViewColumns[i]
		if v.View == "" || v.Column == "" || v.FromTable == "" || v.FromColumn == "" {
			return fmt.Errorf("view column %d is incomplete", i)
		}
	}
	for i := range d.Functions {
		if d.Functions[i].Name == "" {
			return fmt.Errorf("function %d has no name", i)
		}
	}
	for i := range d.Computed {
		if c := &d.Computed[i]; c.Function == "" || c.FromTable == "" || c.ToTable == "" {
			return fmt.Errorf("computed relationship %d is incomplete", i)
		}
	}
	return nil
}

// sort makes the document independent of the order in which Postgres found things.
// Columns of tables and views keep theirs.
func (d *document) sort() {
	slices.SortFunc(d.Tables, func(a, b Table) int { return compareIdent(a.Ident(), b.Ident()) })
	for i := range d.Tables {
		slices.SortFunc(d.Tables[i].UniqueKeys, func(a, b Key) int { return cmp.Compare(a.Name, b.Name) })
	}
	slices.SortFunc(d.ForeignKeys, func(a, b foreignKey) int {
		return cmp.Or(compareIdent(a.origin(), b.origin()), cmp.Compare(a.Constraint, b.Constraint))
	})
	slices.SortStableFunc(d.ViewColumns, func(a, b viewColumn) int { return compareIdent(a.view(), b.view()) })
	slices.SortFunc(d.HiddenKeys, func(a, b hiddenKey) int {
		return compareIdent(Ident{a.Schema, a.Table}, Ident{b.Schema, b.Table})
	})
	slices.SortFunc(d.Functions, func(a, b Function) int { return compareFunctions(&a, &b) })
	slices.SortFunc(d.Computed, func(a, b computedRecord) int {
		return cmp.Or(
			compareIdent(Ident{a.Schema, a.Function}, Ident{b.Schema, b.Function}),
			compareIdent(Ident{a.FromSchema, a.FromTable}, Ident{b.FromSchema, b.FromTable}),
		)
	})
}

// JSON writes the catalog as a document for [Parse]. Equal schemas on the same
// server version give equal bytes.
func (c *Catalog) JSON() ([]byte, error) { return json.Marshal(c.doc) }
