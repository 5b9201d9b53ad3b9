package catalog

import "slices"

// Catalog is the schema at one moment. The zero value is not usable; see [Parse].
type Catalog struct {
	doc           *document
	tables        map[Ident]*Table
	functions     map[Ident][]*Function
	relationships map[Ident][]*Relationship // by origin, in PostgREST's order
}

// index builds the lookups. It takes the document over.
func index(doc *document) *Catalog {
	c := &Catalog{
		doc:       doc,
		tables:    make(map[Ident]*Table, len(doc.Tables)),
		functions: make(map[Ident][]*Function, len(doc.Functions)),
	}
	for i := range doc.Tables {
		t := &doc.Tables[i]
		t.byName = make(map[string]int, len(t.Columns))
		for j := range t.Columns {
			t.byName[t.Columns[j].Name] = j
		}
		c.tables[t.Ident()] = t
	}
	for i := range doc.Functions {
		f := &doc.Functions[i]
		c.functions[f.Ident()] = append(c.functions[f.Ident()], f)
	}
	d := newDerivation(doc)
	for _, t := range c.tables {
		if t.IsView() {
			t.PrimaryKey = d.viewPrimaryKey(t.Ident())
		}
	}
	c.relationships = d.relationships(c)
	return c
}

// ServerVersion returns the server's version as server_version_num has it, such as
// 150018; 0 if the document doesn't say.
func (c *Catalog) ServerVersion() int { return c.doc.ServerVersion }

// Schemas returns the exposed schemas, the default one first.
func (c *Catalog) Schemas() []string { return slices.Clone(c.doc.Schemas) }

// Exposes returns nil if the schema is exposed, else a PGRST106.
func (c *Catalog) Exposes(schema string) error {
	if !slices.Contains(c.doc.Schemas, schema) {
		return c.unknownSchema(schema)
	}
	return nil
}

// Table returns the table, view, materialized view, foreign table or partitioned
// table of that name. If there is none, [Catalog.UnknownTable] is the error that
// PostgREST answers.
func (c *Catalog) Table(schema, name string) (*Table, bool) {
	t, ok := c.tables[Ident{schema, name}]
	return t, ok
}

// Tables yields all tables by schema and name.
func (c *Catalog) Tables(yield func(*Table) bool) {
	for i := range c.doc.Tables {
		if !yield(&c.doc.Tables[i]) {
			return
		}
	}
}

// Functions yields all functions by schema, name and number of arguments.
func (c *Catalog) Functions(yield func(*Function) bool) {
	for i := range c.doc.Functions {
		if !yield(&c.doc.Functions[i]) {
			return
		}
	}
}

// Relationships returns every relationship from the table to others, in
// PostgREST's order.
func (c *Catalog) Relationships(schema, table string) []*Relationship {
	return slices.Clone(c.relationships[Ident{schema, table}])
}
