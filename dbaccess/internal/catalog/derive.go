package catalog

import (
	"maps"
	"slices"
)

const (
	// maxViewDepth bounds how many views may lie between a view and its table.
	maxViewDepth = 100

	// maxKeyCopies bounds the ways in which one view may show one key: a key of
	// two columns that are shown twice each is shown in four ways.
	maxKeyCopies = 64
)

// keyRole is the part that columns play in a constraint.
type keyRole int

const (
	primaryKey keyRole = iota
	referencing
	referenced
)

// constraintID identifies one side of a constraint.
type constraintID struct {
	table Ident
	name  string // empty for a primary key
	role  keyRole
}

// viewKey is a constraint side that a view shows whole: for each column of the key
// in order, the view's columns that pass it on.
type viewKey struct {
	view    Ident
	columns [][]string
}

// derivation finds the keys that views show and from them all relationships.
type derivation struct {
	doc     *document
	exposed map[string]bool
	keys    map[constraintID][]viewKey
	primary map[Ident][]viewKey // by view
}

func newDerivation(doc *document) *derivation {
	d := &derivation{
		doc:     doc,
		exposed: make(map[string]bool, len(doc.Schemas)),
		keys:    map[constraintID][]viewKey{},
		primary: map[Ident][]viewKey{},
	}
	for _, s := range doc.Schemas {
		d.exposed[s] = true
	}
	d.findViewKeys()
	return d
}

// shown maps a table's columns to those of a view that pass them on.
type shown map[string][]string

// findViewKeys fills keys and primary.
func (d *derivation) findViewKeys() {
	if len(d.doc.ViewColumns) == 0 {
		return
	}
	type column struct {
		table Ident
		name  string
	}
	from := make(map[column]column, len(d.doc.ViewColumns))
	for i := range d.doc.ViewColumns {
		v := &d.doc.ViewColumns[i]
		from[column{v.view(), v.Column}] = column{v.from(), v.FromColumn}
	}
	views := map[Ident]map[Ident]shown{} // by view and table
	for i := range d.doc.ViewColumns {
		v := &d.doc.ViewColumns[i]
		if !d.exposed[v.Schema] {
			continue
		}
		at, ok := column{v.view(), v.Column}, true
		for range maxViewDepth {
			next, more := from[at]
			if ok = !more; ok {
				break
			}
			at = next
		}
		if !ok {
			continue // views in a circle
		}
		tables := views[v.view()]
		if tables == nil {
			tables = map[Ident]shown{}
			views[v.view()] = tables
		}
		if tables[at.table] == nil {
			tables[at.table] = shown{}
		}
		tables[at.table][at.name] = append(tables[at.table][at.name], v.Column)
	}

	constraints := d.constraints()
	for _, view := range slices.SortedFunc(maps.Keys(views), compareIdent) {
		for _, table := range slices.SortedFunc(maps.Keys(views[view]), compareIdent) {
			for _, k := range constraints[table] {
				if columns, whole := views[view][table].key(k.columns); whole {
					d.add(k.id, viewKey{view, columns})
				}
			}
		}
	}
}

// constraint is one side of a constraint with its columns.
type constraint struct {
	id      constraintID
	columns []string
}

// constraints lists the sides of all constraints by table.
func (d *derivation) constraints() map[Ident][]constraint {
	out := map[Ident][]constraint{}
	add := func(id constraintID, columns []string) {
		if len(columns) > 0 {
			out[id.table] = append(out[id.table], constraint{id, columns})
		}
	}
	for i := range d.doc.Tables {
		if t := &d.doc.Tables[i]; !t.IsView() {
			add(constraintID{t.Ident(), "", primaryKey}, t.PrimaryKey)
		}
	}
	for i := range d.doc.HiddenKeys {
		k := &d.doc.HiddenKeys[i]
		add(constraintID{Ident{k.Schema, k.Table}, "", primaryKey}, k.Columns)
	}
	for i := range d.doc.ForeignKeys {
		k := &d.doc.ForeignKeys[i]
		add(constraintID{k.origin(), k.Constraint, referencing}, k.Columns)
		add(constraintID{k.target(), k.Constraint, referenced}, k.RefColumns)
	}
	return out
}

// key returns the view's columns for each column of a key, unless one is missing.
func (s shown) key(columns []string) ([][]string, bool) {
	out := make([][]string, len(columns))
	for i, c := range columns {
		if out[i] = s[c]; out[i] == nil {
			return nil, false
		}
	}
	return out, true
}

func (d *derivation) add(id constraintID, k viewKey) {
	if id.role == primaryKey {
		d.primary[k.view] = append(d.primary[k.view], k)
		return
	}
	d.keys[id] = append(d.keys[id], k)
}

// viewPrimaryKey returns the view's columns that pass on primary keys, the first of
// each that is passed on more than once.
func (d *derivation) viewPrimaryKey(view Ident) []string {
	var out []string
	for _, k := range d.primary[view] {
		for _, copies := range k.columns {
			out = append(out, copies[0])
		}
	}
	return out
}

// copies returns every choice of one view column for each column of the key.
func (k *viewKey) copies() [][]string {
	out := [][]string{nil}
	for _, choices := range k.columns {
		next := make([][]string, 0, len(out)*len(choices))
		for _, prefix := range out {
			for _, c := range choices {
				if len(next) < maxKeyCopies {
					next = append(next, append(slices.Clone(prefix), c))
				}
			}
		}
		out = next
	}
	return out
}

// relationships returns all relationships between exposed tables by origin.
func (d *derivation) relationships(c *Catalog) map[Ident][]*Relationship {
	all := d.fromForeignKeys()
	junctions := d.junctions(c, all)
	for _, r := range slices.Clone(all) {
		all = append(all, r.inverse())
	}
	all = append(all, junctions...)

	type pair struct{ origin, target Ident }
	overridden := make(map[pair]bool, len(d.doc.Computed))
	byOrigin := map[Ident][]*Relationship{}
	for i := range d.doc.Computed {
		r := &d.doc.Computed[i]
		fn := Ident{r.Schema, r.Function}
		rel := &Relationship{
			Origin: Ident{r.FromSchema, r.FromTable}, Target: Ident{r.ToSchema, r.ToTable},
			Function: &fn, ToOneRow: r.ToOne,
		}
		if d.visible(rel) {
			overridden[pair{rel.Origin, fn}] = true
			byOrigin[rel.Origin] = append(byOrigin[rel.Origin], rel)
		}
	}
	for _, r := range all {
		// A computed relationship replaces those to the table it has the name of.
		if d.visible(r) && !overridden[pair{r.Origin, r.Target}] {
			byOrigin[r.Origin] = append(byOrigin[r.Origin], r)
		}
	}
	for _, rels := range byOrigin {
		slices.SortStableFunc(rels, compareRelationships)
	}
	return byOrigin
}

// visible reports whether everything that the relationship touches is exposed.
func (d *derivation) visible(r *Relationship) bool {
	return d.exposed[r.Origin.Schema] && d.exposed[r.Target.Schema] &&
		(r.Junction == nil || d.exposed[r.Junction.Table.Schema])
}

// fromForeignKeys returns the relationships from the referencing side: between
// tables, and from and to the views that show either side.
func (d *derivation) fromForeignKeys() []*Relationship {
	var out []*Relationship
	for i := range d.doc.ForeignKeys {
		k := &d.doc.ForeignKeys[i]
		add := func(origin, target Ident, columns, refColumns []string, originIsView, targetIsView bool) {
			r := &Relationship{
				Origin: origin, Target: target, Cardinality: ManyToOne, Constraint: k.Constraint,
				OriginIsView: originIsView, TargetIsView: targetIsView,
			}
			if k.Unique {
				r.Cardinality = OneToOne
			}
			for i := range columns {
				r.Columns = append(r.Columns, Join{From: columns[i], To: refColumns[i]})
			}
			out = append(out, r)
		}
		add(k.origin(), k.target(), k.Columns, k.RefColumns, false, false)
		origins := d.keys[constraintID{k.origin(), k.Constraint, referencing}]
		targets := d.keys[constraintID{k.target(), k.Constraint, referenced}]
		for _, o := range origins {
			for _, columns := range o.copies() {
				add(o.view, k.target(), columns, k.RefColumns, true, false)
			}
		}
		for _, t := range targets {
			for _, refColumns := range t.copies() {
				add(k.origin(), t.view, k.Columns, refColumns, false, true)
			}
		}
		for _, o := range origins {
			for _, columns := range o.copies() {
				for _, t := range targets {
					for _, refColumns := range t.copies() {
						add(o.view, t.view, columns, refColumns, true, true)
					}
				}
			}
		}
	}
	return out
}

// junctions returns the many-to-many relationships: through every table whose
// primary key includes the columns of two of its many-to-one relationships.
func (d *derivation) junctions(c *Catalog, rels []*Relationship) []*Relationship {
	byOrigin := map[Ident][]*Relationship{}
	for _, r := range rels {
		t, ok := c.tables[r.Origin]
		if ok && r.Cardinality == ManyToOne && subset(r.Columns, t.PrimaryKey) {
			byOrigin[r.Origin] = append(byOrigin[r.Origin], r)
		}
	}
	var out []*Relationship
	for _, table := range slices.SortedFunc(maps.Keys(byOrigin), compareIdent) {
		for _, to := range byOrigin[table] {
			for _, other := range byOrigin[table] {
				if to.Constraint == other.Constraint {
					continue
				}
				out = append(out, &Relationship{
					Origin: to.Target, Target: other.Target, Cardinality: ManyToMany,
					Junction: &Junction{
						Table:            table,
						OriginConstraint: to.Constraint, TargetConstraint: other.Constraint,
						Origin: swapped(to.Columns), Target: swapped(other.Columns),
					},
					OriginIsView: to.TargetIsView, TargetIsView: other.TargetIsView,
				})
			}
		}
	}
	return out
}

func subset(joins []Join, columns []string) bool {
	return !slices.ContainsFunc(joins, func(j Join) bool { return !slices.Contains(columns, j.From) })
}
