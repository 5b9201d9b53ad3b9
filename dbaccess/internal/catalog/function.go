package catalog

import (
	"cmp"
	"slices"
)

// Function is a function of an exposed schema that can be called by the names of
// its arguments, or with a whole body as its single unnamed argument.
type Function struct {
	Schema     string     `json:"schema"`
	Name       string     `json:"name"`
	Args       []Arg      `json:"args,omitempty"`    // IN, INOUT and VARIADIC, in order
	Columns    []Result   `json:"columns,omitempty"` // OUT, INOUT and TABLE, in order
	Returns    Returns    `json:"returns"`
	Volatility Volatility `json:"volatility"`
	Settings   []Setting  `json:"settings,omitempty"` // of CREATE FUNCTION … SET, in order
}

// Ident returns the function's qualified name.
func (f *Function) Ident() Ident { return Ident{f.Schema, f.Name} }

// ReadOnly reports whether PostgREST calls the function in a read-only
// transaction even when it is posted.
func (f *Function) ReadOnly() bool { return f.Volatility != Volatile }

// Variadic reports whether the last argument is variadic.
func (f *Function) Variadic() bool {
	return len(f.Args) > 0 && f.Args[len(f.Args)-1].Mode == ArgVariadic
}

// Arg returns the argument of that name.
func (f *Function) Arg(name string) (*Arg, bool) {
	for i := range f.Args {
		if f.Args[i].Name == name {
			return &f.Args[i], true
		}
	}
	return nil, false
}

// Resource returns the name under which the function's rows take part in embeds:
// the relation that they are rows of, looked for in the function's own schema as
// PostgREST does, or else the function itself.
func (f *Function) Resource() Ident {
	if f.Returns.Kind == ReturnsComposite {
		return Ident{f.Schema, f.Returns.Name}
	}
	return f.Ident()
}

// ArgMode is how an argument is passed.
type ArgMode string

// The modes of arguments that a caller gives.
const (
	ArgIn       ArgMode = ""
	ArgInOut    ArgMode = "inout"
	ArgVariadic ArgMode = "variadic"
)

// Arg is an argument that a caller gives.
type Arg struct {
	Name string `json:"name,omitempty"` // empty if it has none
	Type string `json:"type"`           // as in Column.Type, without a length; an array if variadic

	// CastType differs from Type for the types whose bare name would cut values to
	// one character. Empty if it does not differ; see Cast.
	CastType string  `json:"cast_type,omitempty"`
	Mode     ArgMode `json:"mode,omitempty"`
	Optional bool    `json:"optional,omitempty"` // it has a default
}

// Cast returns the type to cast a value for the argument to.
func (a *Arg) Cast() string { return cmp.Or(a.CastType, a.Type) }

// Result is a column of a function's result.
type Result struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type"`
}

// ReturnKind is what a function returns one of, or a set of.
type ReturnKind string

// The kinds of results.
const (
	ReturnsVoid      ReturnKind = "void"
	ReturnsScalar    ReturnKind = "scalar"
	ReturnsComposite ReturnKind = "composite" // also records, and whatever has OUT or TABLE columns
)

// Returns is what a function returns.
type Returns struct {
	Kind ReturnKind `json:"kind"`
	Set  bool       `json:"set,omitempty"` // SETOF or TABLE
	Type string     `json:"type"`          // as in Column.Type, without a length

	// Schema and Name are those of the type behind domains: a relation's for its
	// row type, pg_catalog and record for TABLE.
	Schema string `json:"schema"`
	Name   string `json:"name"`

	Relation bool `json:"relation,omitempty"` // Schema and Name are a table's or view's
	Domain   bool `json:"domain,omitempty"`   // Type is a domain
}

// Volatility is what a function promises about writing and repeatability.
type Volatility string

// The volatilities.
const (
	Volatile  Volatility = "volatile"
	Stable    Volatility = "stable"
	Immutable Volatility = "immutable"
)

// Setting is a configuration parameter that a function sets while it runs.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Setting returns the value that the function sets the parameter to. Names are
// compared as pg_proc has them, in lower case.
func (f *Function) Setting(name string) (string, bool) {
	i := slices.IndexFunc(f.Settings, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return "", false
	}
	return f.Settings[i].Value, true
}

// compareFunctions orders overloads as PostgREST does: fewest arguments first.
func compareFunctions(a, b *Function) int {
	return cmp.Or(
		cmp.Compare(a.Schema, b.Schema),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(len(a.Args), len(b.Args)),
		slices.CompareFunc(a.Args, b.Args, func(x, y Arg) int {
			return cmp.Or(
				cmp.Compare(x.Name, y.Name),
				cmp.Compare(x.Type, y.Type),
				cmp.Compare(x.Cast(), y.Cast()),
				compareBool(!x.Optional, !y.Optional),
				compareBool(x.Mode == ArgVariadic, y.Mode == ArgVariadic),
				cmp.Compare(x.Mode, y.Mode),
			)
		}),
		cmp.Compare(a.Returns.Type, b.Returns.Type),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
