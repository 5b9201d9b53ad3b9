package catalog

import (
	"cmp"
	"slices"
)

// Cardinality says how many rows a relationship joins to how many.
type Cardinality string

// The cardinalities, as PostgREST names them in errors.
const (
	OneToMany  Cardinality = "one-to-many"
	ManyToOne  Cardinality = "many-to-one"
	OneToOne   Cardinality = "one-to-one"
	ManyToMany Cardinality = "many-to-many"
)

// rank is PostgREST's order of cardinalities, which shows in errors.
func (c Cardinality) rank() int {
	return slices.Index([]Cardinality{OneToMany, ManyToOne, OneToOne, ManyToMany}, c)
}

// Join is a pair of columns that a relationship compares.
type Join struct {
	From string // of the origin, or of the outer table for a junction
	To   string // of the target, or of the junction
}

// Junction is the table in the middle of a many-to-many relationship.
type Junction struct {
	Table            Ident
	OriginConstraint string // the junction's foreign key to the origin
	TargetConstraint string // the junction's foreign key to the target
	Origin           []Join // columns of the origin and of the junction
	Target           []Join // columns of the target and of the junction
}

// Relationship is a way to embed rows of Target into rows of Origin.
type Relationship struct {
	Origin Ident
	Target Ident

	// Cardinality is empty for a computed relationship; see ToOne.
	Cardinality Cardinality

	// Constraint is the foreign key's name, and Columns are the columns of origin
	// and target that it joins. Empty for many-to-many and computed relationships.
	Constraint string
	Columns    []Join

	// Junction is set for many-to-many relationships alone.
	Junction *Junction

	// Function is set for computed relationships alone: it takes a row of Origin
	// and returns rows of Target, one at most if ToOneRow.
	Function *Ident
	ToOneRow bool

	// Parent is set on the side of a one-to-one relationship that is referred to.
	Parent bool

	OriginIsView bool
	TargetIsView bool
}

// ToOne reports whether the embedded value is an object or null, not an array.
func (r *Relationship) ToOne() bool {
	if r.Function != nil {
		return r.ToOneRow
	}
	return r.Cardinality == ManyToOne || r.Cardinality == OneToOne
}

// IsSelf reports whether the relationship leads back to its origin.
func (r *Relationship) IsSelf() bool { return r.Origin == r.Target }

// schema is where a request finds the relationship: that of the target, or of the
// function that stands for it.
func (r *Relationship) schema() string {
	if r.Function != nil {
		return r.Function.Schema
	}
	return r.Target.Schema
}

// inverse returns the relationship seen from the other side of a foreign key.
func (r *Relationship) inverse() *Relationship {
	inv := &Relationship{
		Origin: r.Target, Target: r.Origin,
		Cardinality: OneToMany, Constraint: r.Constraint, Columns: swapped(r.Columns),
		OriginIsView: r.TargetIsView, TargetIsView: r.OriginIsView,
	}
	if r.Cardinality == OneToOne {
		inv.Cardinality, inv.Parent = OneToOne, !r.Parent
	}
	return inv
}

func swapped(joins []Join) []Join {
	out := make([]Join, len(joins))
	for i, j := range joins {
		out[i] = Join{From: j.To, To: j.From}
	}
	return out
}

func compareIdent(a, b Ident) int {
	return cmp.Or(cmp.Compare(a.Schema, b.Schema), cmp.Compare(a.Name, b.Name))
}

func compareJoins(a, b []Join) int {
	return slices.CompareFunc(a, b, func(x, y Join) int {
		return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To))
	})
}

// compareRelationships is PostgREST's order, in which an ambiguity lists its
// candidates: detected before computed, then by target, cardinality and names.
func compareRelationships(a, b *Relationship) int {
	if a.Function != nil || b.Function != nil {
		if a.Function != nil && b.Function != nil {
			return cmp.Or(compareIdent(*a.Function, *b.Function), compareIdent(a.Origin, b.Origin), compareIdent(a.Target, b.Target))
		}
		return compareBool(a.Function != nil, b.Function != nil)
	}
	return cmp.Or(
		compareIdent(a.Origin, b.Origin),
		compareIdent(a.Target, b.Target),
		cmp.Compare(a.Cardinality.rank(), b.Cardinality.rank()),
		cmp.Compare(a.Constraint, b.Constraint),
		compareJoins(a.Columns, b.Columns),
		compareBool(a.Parent, b.Parent),
		compareJunctions(a.Junction, b.Junction),
		compareBool(a.OriginIsView, b.OriginIsView),
		compareBool(a.TargetIsView, b.TargetIsView),
	)
}

func compareJunctions(a, b *Junction) int {
	if a == nil || b == nil {
		return compareBool(a != nil, b != nil)
	}
	return cmp.Or(
		compareIdent(a.Table, b.Table),
		cmp.Compare(a.OriginConstraint, b.OriginConstraint),
		cmp.Compare(a.TargetConstraint, b.TargetConstraint),
		compareJoins(a.Origin, b.Origin),
		compareJoins(a.Target, b.Target),
	)
}
