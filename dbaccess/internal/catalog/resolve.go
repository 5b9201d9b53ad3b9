package catalog

import "slices"

// Relationship finds what embedding target into rows of origin means, as PostgREST
// does: exactly one relationship, or an [*Error] PGRST200 or PGRST201.
//
// Without a hint the target is the name of a table or view; or a foreign key's
// name or its single column, on the side of the origin, if it leads to a table; or
// a computed relationship's function. With a hint it is a table's or view's name,
// and the hint a foreign key's name, the single column of either side of one, or
// the name of a junction table.
//
// From a table to itself the rules are others, because one foreign key leads both
// ways: the table's name means the rows that refer to this one (hinted, if need be,
// by the referring column), the column's name means the row that this one refers
// to, and a foreign key's name means nothing.
//
// An empty hint is none.
func (c *Catalog) Relationship(schema, origin, target, hint string) (*Relationship, error) {
	var found *Relationship
	rels := c.relationships[Ident{schema, origin}]
	for i, r := range rels {
		if r.schema() != schema || !r.matches(target, hint) {
			continue
		}
		if found != nil {
			all := []*Relationship{found, r}
			for _, r := range rels[i+1:] {
				if r.schema() == schema && r.matches(target, hint) {
					all = append(all, r)
				}
			}
			return nil, ambiguousRelationship(origin, target, all)
		}
		found = r
	}
	if found == nil {
		return nil, c.noRelationship(schema, origin, target, hint)
	}
	return found, nil
}

func (r *Relationship) matches(target, hint string) bool {
	switch {
	case r.Function != nil:
		return target == r.Function.Name
	case r.IsSelf():
		if r.Cardinality == ManyToOne {
			return hint == "" && r.joinsFrom(target)
		}
		return r.Cardinality == OneToMany && target == r.Target.Name && (hint == "" || r.joinsTo(hint))
	case hint == "":
		return target == r.Target.Name ||
			!r.TargetIsView && (r.isConstraint(target) || r.joinsFrom(target))
	}
	return target == r.Target.Name &&
		(r.isConstraint(hint) || r.joinsFrom(hint) || r.joinsTo(hint) || r.isJunction(hint))
}

func (r *Relationship) isConstraint(name string) bool {
	return r.Junction == nil && r.Constraint == name
}
func (r *Relationship) isJunction(name string) bool {
	return r.Junction != nil && r.Junction.Table.Name == name
}

// joinsFrom reports whether the origin's only joined column has that name.
func (r *Relationship) joinsFrom(column string) bool {
	return len(r.Columns) == 1 && r.Columns[0].From == column
}

// joinsTo reports whether the target's only joined column has that name.
func (r *Relationship) joinsTo(column string) bool {
	return len(r.Columns) == 1 && r.Columns[0].To == column
}

// Body is what a call of a function carries besides named arguments.
type Body int

// The bodies of calls. All but BodyNone mean POST.
const (
	BodyNone  Body = iota // GET and HEAD, or a posted form: arguments by name alone
	BodyJSON              // application/json: an object of arguments, or a value for a single unnamed json or jsonb
	BodyText              // text/plain, for a single unnamed text
	BodyXML               // text/xml, for a single unnamed xml
	BodyBytes             // application/octet-stream, for a single unnamed bytea
)

// unnamedType is the type of the single unnamed argument that takes the body, as
// errors name it.
func (b Body) unnamedType() string {
	switch b {
	case BodyJSON:
		return "json/jsonb"
	case BodyText:
		return "text"
	case BodyXML:
		return "xml"
	case BodyBytes:
		return "bytea"
	}
	return ""
}

// whole reports whether the body can only be one value, not named arguments.
func (b Body) whole() bool { return b == BodyText || b == BodyXML || b == BodyBytes }

// Call is how a function is called.
type Call struct {
	// Args are the names of the arguments given. Order and repetition don't matter.
	Args []string
	Body Body
}

// Function finds the function to call, as PostgREST does: the one of that name
// that has all the arguments given and requires no others, else the one whose
// single unnamed argument takes the body; or an [*Error] PGRST202 or PGRST203.
func (c *Catalog) Function(schema, name string, call Call) (*Function, error) {
	var named, unnamed []*Function
	for _, f := range c.functions[Ident{schema, name}] {
		switch {
		case f.takes(call):
			named = append(named, f)
		case f.takesBody(call.Body):
			unnamed = append(unnamed, f)
		}
	}
	if len(named) == 0 {
		named = unnamed
	}
	switch len(named) {
	case 0:
		return nil, c.noFunction(schema, name, call)
	case 1:
		return named[0], nil
	}
	return nil, ambiguousFunction(named)
}

func (f *Function) takes(call Call) bool {
	if len(f.Args) == 0 {
		return len(call.Args) == 0 && !call.Body.whole()
	}
	for _, name := range call.Args {
		if _, ok := f.Arg(name); !ok {
			return false
		}
	}
	for i := range f.Args {
		if !f.Args[i].Optional && !slices.Contains(call.Args, f.Args[i].Name) {
			return false
		}
	}
	return true
}

func (f *Function) takesBody(b Body) bool {
	if len(f.Args) != 1 || f.Args[0].Name != "" {
		return false
	}
	switch f.Args[0].Type {
	case "json", "jsonb":
		return b == BodyJSON
	case "text":
		return b == BodyText
	case "xml":
		return b == BodyXML
	case "bytea":
		return b == BodyBytes
	}
	return false
}
