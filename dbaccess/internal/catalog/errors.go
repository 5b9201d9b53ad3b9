package catalog

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The codes of errors about the schema.
//
// Source: https://docs.postgrest.org/en/stable/references/errors.html#group-2-schema-cache
const (
	CodeSchemaNotExposed      = "PGRST106"
	CodeNoRelationship        = "PGRST200"
	CodeAmbiguousRelationship = "PGRST201"
	CodeNoFunction            = "PGRST202"
	CodeAmbiguousFunction     = "PGRST203"
	CodeNoColumn              = "PGRST204"
	CodeNoTable               = "PGRST205"
)

// Error is what PostgREST answers when a request names what the schema doesn't
// have. Message, Details and Hint are PostgREST's words and quote the names of the
// request; Error gives the code and advice alone.
type Error struct {
	Code    string
	Status  int    // of the HTTP answer
	Message string // never empty
	Details any    // nil, a string, or []Candidate
	Hint    string // empty for null
}

// Candidate describes one of the relationships that an ambiguous embed could mean.
// All fields are empty for a computed relationship.
type Candidate struct {
	Cardinality  string `json:"cardinality,omitempty"`
	Embedding    string `json:"embedding,omitempty"`
	Relationship string `json:"relationship,omitempty"`
}

// Error says what to do about the code, and quotes no name.
func (e *Error) Error() string {
	advice := "check the request against the schema"
	switch e.Code {
	case CodeSchemaNotExposed:
		advice = "the schema is not exposed: ask for one that is, or expose it"
	case CodeNoRelationship:
		advice = "no relationship to embed: check the table's name and the hint; after a schema change reload the catalog"
	case CodeAmbiguousRelationship:
		advice = "more than one relationship to embed: add a hint, the foreign key's name, as in table!constraint"
	case CodeNoFunction:
		advice = "no such function with these arguments: check its name and theirs; after a schema change reload the catalog"
	case CodeAmbiguousFunction:
		advice = "more than one function takes these arguments: rename one, or the arguments of one"
	case CodeNoColumn:
		advice = "no such column: check its name; after a schema change reload the catalog"
	case CodeNoTable:
		advice = "no such table: check its name and schema; after a schema change reload the catalog"
	}
	return "catalog: " + e.Code + " (status " + strconv.Itoa(e.Status) + "): " + advice
}

// MarshalJSON writes the body of PostgREST's answer.
func (e *Error) MarshalJSON() ([]byte, error) {
	var hint *string
	if e.Hint != "" {
		hint = &e.Hint
	}
	return json.Marshal(struct {
		Code    string  `json:"code"`
		Details any     `json:"details"`
		Hint    *string `json:"hint"`
		Message string  `json:"message"`
	}{e.Code, e.Details, hint, e.Message})
}

func (c *Catalog) unknownSchema(schema string) *Error {
	return &Error{
		Code: CodeSchemaNotExposed, Status: http.StatusNotAcceptable,
		Message: "Invalid schema: " + schema,
		Hint:    "Only the following schemas are exposed: " + strings.Join(c.doc.Schemas, ", "),
	}
}

// UnknownTable returns the PGRST205 for a table that [Catalog.Table] didn't find.
func (c *Catalog) UnknownTable(schema, name string) *Error {
	e := &Error{
		Code: CodeNoTable, Status: http.StatusNotFound,
		Message: "Could not find the table '" + schema + "." + name + "' in the schema cache",
	}
	var names []string
	for i := range c.doc.Tables {
		if c.doc.Tables[i].Schema == schema {
			names = append(names, c.doc.Tables[i].Name)
		}
	}
	if near, _, ok := nearest(names, name, nameSimilarity); ok {
		e.Hint = "Perhaps you meant the table '" + schema + "." + near + "'"
	}
	return e
}

// UnknownColumn returns the PGRST204 for a column to write that [Table.Column]
// didn't find. Columns to read are Postgres's to judge.
func (t *Table) UnknownColumn(name string) *Error {
	return &Error{
		Code: CodeNoColumn, Status: http.StatusBadRequest,
		Message: "Could not find the '" + name + "' column of '" + t.Name + "' in the schema cache",
	}
}

func (c *Catalog) noRelationship(schema, origin, target, hint string) *Error {
	details := "Searched for a foreign key relationship between '" + origin + "' and '" + target
	if hint != "" {
		details += "' using the hint '" + hint
	}
	return &Error{
		Code: CodeNoRelationship, Status: http.StatusBadRequest,
		Message: "Could not find a relationship between '" + origin + "' and '" + target + "' in the schema cache",
		Details: details + "' in the schema '" + schema + "', but no matches were found.",
		Hint:    c.relationshipHint(schema, origin, target),
	}
}

// relationshipHint suggests another origin if there is none of that name, else
// another target if it has none of that name.
func (c *Catalog) relationshipHint(schema, origin, target string) string {
	var names []string
	wrong := target
	if rels := c.relationships[Ident{schema, origin}]; len(rels) > 0 {
		for _, r := range rels {
			if r.schema() == schema {
				names = append(names, r.Target.Name)
			}
		}
	} else {
		wrong = origin
		for id := range c.relationships {
			if id.Schema == schema {
				names = append(names, id.Name)
			}
		}
	}
	near, score, ok := nearest(names, wrong, looseSimilarity)
	if !ok || wrong == target && score == 1 {
		return "" // the target is right, so it must be the embed's own hint that is wrong
	}
	return "Perhaps you meant '" + near + "' instead of '" + wrong + "'."
}

func ambiguousRelationship(origin, target string, found []*Relationship) *Error {
	candidates := make([]Candidate, len(found))
	hints := make([]string, len(found))
	for i, r := range found {
		if r.Function != nil {
			continue
		}
		candidates[i] = Candidate{
			Cardinality:  string(r.Cardinality),
			Embedding:    r.Origin.Name + " with " + r.Target.Name,
			Relationship: r.describe(),
		}
		by := r.Constraint
		if r.Junction != nil {
			by = r.Junction.Table.Name
		}
		hints[i] = "'" + r.Target.Name + "!" + by + "'"
	}
	return &Error{
		Code: CodeAmbiguousRelationship, Status: http.StatusMultipleChoices,
		Message: "Could not embed because more than one relationship was found for '" + origin + "' and '" + target + "'",
		Details: candidates,
		Hint: "Try changing '" + target + "' to one of the following: " + strings.Join(hints, ", ") +
			". Find the desired relationship in the 'details' key.",
	}
}

// describe names the constraints and columns of a detected relationship.
func (r *Relationship) describe() string {
	from := func(j Join) string { return j.From }
	to := func(j Join) string { return j.To }
	if j := r.Junction; j != nil {
		return j.Table.Name + " using " + j.OriginConstraint + list(j.Origin, to) + " and " + j.TargetConstraint + list(j.Target, to)
	}
	return r.Constraint + " using " + r.Origin.Name + list(r.Columns, from) + " and " + r.Target.Name + list(r.Columns, to)
}

func list(joins []Join, column func(Join) string) string {
	names := make([]string, len(joins))
	for i, j := range joins {
		names[i] = column(j)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

func (c *Catalog) noFunction(schema, name string, call Call) *Error {
	full := schema + "." + name
	keys := slices.Compact(slices.Sorted(slices.Values(call.Args)))
	args, shown := " without parameters", " without parameters"
	if len(keys) > 0 {
		joined := strings.Join(keys, ", ")
		args, shown = " with parameter "+joined, "("+joined+")"
		if len(keys) > 1 {
			args = " with parameters " + joined
		}
	}
	e := &Error{Code: CodeNoFunction, Status: http.StatusNotFound}
	switch unnamed := call.Body.unnamedType(); unnamed {
	case "":
	case "json/jsonb":
		args += " or with a single unnamed json/jsonb parameter"
	default:
		args, shown = " with a single unnamed "+unnamed+" parameter", ""
	}
	e.Message = "Could not find the function " + full + shown + " in the schema cache"
	e.Details = "Searched for the function " + full + args + ", but no matches were found in the schema cache."
	if shown != "" {
		e.Hint = c.functionHint(schema, name, keys)
	}
	return e
}

// functionHint suggests another function if there is none of that name, else the
// arguments of the nearest overload.
func (c *Catalog) functionHint(schema, name string, keys []string) string {
	var names []string
	overloads := c.functions[Ident{schema, name}]
	var near string
	var ok bool
	if len(overloads) == 0 {
		for i := range c.doc.Functions {
			if c.doc.Functions[i].Schema == schema {
				names = append(names, c.doc.Functions[i].Name)
			}
		}
		near, _, ok = nearest(names, name, nameSimilarity)
	} else {
		for _, f := range overloads {
			args := make([]string, len(f.Args))
			for i := range f.Args {
				args[i] = f.Args[i].Name
			}
			slices.Sort(args)
			names = append(names, "("+strings.Join(args, ", ")+")")
		}
		near, _, ok = nearest(names, "("+strings.Join(keys, ", ")+")", looseSimilarity)
		near = name + near
	}
	if !ok {
		return ""
	}
	return "Perhaps you meant to call the function " + schema + "." + near
}

func ambiguousFunction(found []*Function) *Error {
	signatures := make([]string, len(found))
	for i, f := range found {
		args := make([]string, len(f.Args))
		for j := range f.Args {
			args[j] = f.Args[j].Name + " => " + f.Args[j].Type
		}
		signatures[i] = f.Schema + "." + f.Name + "(" + strings.Join(args, ", ") + ")"
	}
	return &Error{
		Code: CodeAmbiguousFunction, Status: http.StatusMultipleChoices,
		Message: "Could not choose the best candidate function between: " + strings.Join(signatures, ", "),
		Hint:    "Try renaming the parameters or the function itself in the database so function overloading can be resolved",
	}
}
