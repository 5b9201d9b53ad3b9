package catalog_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
)

// signature writes a function's arguments as PGRST203 does.
func signature(f *catalog.Function) string {
	out := f.Name + "("
	for i, a := range f.Args {
		if i > 0 {
			out += ", "
		}
		out += a.Name + " => " + a.Type
	}
	return out + ")"
}

func TestFunctionResolution(t *testing.T) {
	t.Parallel()
	c := shapes(t)
	for _, tt := range []struct {
		name string
		args []string
		body catalog.Body
		want string // a signature or a code
	}{
		{"over", []string{"a"}, catalog.BodyNone, "over(a => integer)"},
		{"over", []string{"a", "b"}, catalog.BodyNone, catalog.CodeAmbiguousFunction},
		{"over", []string{"x"}, catalog.BodyNone, "over(x => text, y => text, z => text)"},
		{"over", []string{"z", "x"}, catalog.BodyJSON, "over(x => text, y => text, z => text)"},
		{"over", []string{"y"}, catalog.BodyNone, catalog.CodeNoFunction},
		{"over", nil, catalog.BodyNone, catalog.CodeNoFunction},
		{"late", nil, catalog.BodyNone, "late(a => integer, b => integer)"},
		{"late", []string{"b"}, catalog.BodyNone, "late(a => integer, b => integer)"},
		{"late", []string{"b", "b", "a"}, catalog.BodyNone, "late(a => integer, b => integer)"},
		{"late", []string{"c"}, catalog.BodyNone, catalog.CodeNoFunction},
		{"sum_all", []string{"label", "xs"}, catalog.BodyNone, "sum_all(label => text, xs => integer[])"},
		{"sum_all", []string{"label"}, catalog.BodyNone, catalog.CodeNoFunction},
		{"with_out", []string{"a", "c"}, catalog.BodyNone, "with_out(a => integer, c => text)"},
		{"with_out", []string{"a", "b", "c"}, catalog.BodyNone, catalog.CodeNoFunction},
		{"one_out", nil, catalog.BodyNone, "one_out()"},
		{"one_out", nil, catalog.BodyText, catalog.CodeNoFunction},
		{"body", nil, catalog.BodyJSON, "body( => json)"},
		{"body", []string{"a", "b"}, catalog.BodyJSON, "body( => json)"},
		{"body", nil, catalog.BodyText, "body( => text)"},
		{"body", nil, catalog.BodyBytes, "body( => bytea)"},
		{"body", nil, catalog.BodyXML, catalog.CodeNoFunction},
		{"body", nil, catalog.BodyNone, catalog.CodeNoFunction},
		{"any_body", nil, catalog.BodyJSON, catalog.CodeAmbiguousFunction},
		{"named_body", []string{"a"}, catalog.BodyJSON, catalog.CodeNoFunction},
		{"named_body", []string{"doc"}, catalog.BodyJSON, "named_body(doc => jsonb)"},
		{"nameless", nil, catalog.BodyJSON, catalog.CodeNoFunction},
		{"nameless_two", nil, catalog.BodyJSON, catalog.CodeNoFunction},
		{"on_change", nil, catalog.BodyJSON, catalog.CodeNoFunction},
		{"proc", nil, catalog.BodyJSON, catalog.CodeNoFunction},
	} {
		f, err := c.Function("public", tt.name, catalog.Call{Args: tt.args, Body: tt.body})
		var failure *catalog.Error
		got := ""
		switch {
		case errors.As(err, &failure):
			got = failure.Code
		case err != nil:
			got = err.Error()
		default:
			got = signature(f)
		}
		if got != tt.want {
			t.Errorf("%s with %v and body %d: %s, want %s", tt.name, tt.args, tt.body, got, tt.want)
		}
	}
}

func TestFunctionErrors(t *testing.T) {
	t.Parallel()
	c := shapes(t)
	const renaming = "Try renaming the parameters or the function itself in the database so function overloading can be resolved"
	for _, tt := range []struct {
		name string
		call catalog.Call
		want catalog.Error
	}{
		{"over", catalog.Call{Args: []string{"b", "a"}}, catalog.Error{
			Code: "PGRST203", Status: 300, Hint: renaming,
			Message: "Could not choose the best candidate function between: public.over(a => integer, b => integer), public.over(a => integer, b => text)",
		}},
		{"any_body", catalog.Call{Body: catalog.BodyJSON}, catalog.Error{
			Code: "PGRST203", Status: 300, Hint: renaming,
			Message: "Could not choose the best candidate function between: public.any_body( => json), public.any_body( => jsonb)",
		}},
		{"late", catalog.Call{Args: []string{"c"}}, catalog.Error{
			Code: "PGRST202", Status: 404,
			Message: "Could not find the function public.late(c) in the schema cache",
			Details: "Searched for the function public.late with parameter c, but no matches were found in the schema cache.",
			Hint:    "Perhaps you meant to call the function public.late(a, b)",
		}},
		{"sum_al", catalog.Call{Args: []string{"xs", "label", "xs"}, Body: catalog.BodyNone}, catalog.Error{
			Code: "PGRST202", Status: 404,
			Message: "Could not find the function public.sum_al(label, xs) in the schema cache",
			Details: "Searched for the function public.sum_al with parameters label, xs, but no matches were found in the schema cache.",
			Hint:    "Perhaps you meant to call the function public.sum_all",
		}},
		{"late", catalog.Call{Body: catalog.BodyBytes, Args: []string{"q"}}, catalog.Error{
			Code: "PGRST202", Status: 404,
			Message: "Could not find the function public.late in the schema cache",
			Details: "Searched for the function public.late with a single unnamed bytea parameter, but no matches were found in the schema cache.",
		}},
	} {
		_, err := c.Function("public", tt.name, tt.call)
		var got *catalog.Error
		if !errors.As(err, &got) {
			t.Errorf("%s: error %v, want a *catalog.Error", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, *got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestShapesOfFunctions(t *testing.T) {
	t.Parallel()
	c := shapes(t)
	want := map[string]catalog.Function{
		"sum_all": {
			Args:       []catalog.Arg{{Name: "label", Type: "text"}, {Name: "xs", Type: "integer[]", Mode: catalog.ArgVariadic}},
			Returns:    catalog.Returns{Kind: catalog.ReturnsScalar, Type: "bigint", Schema: "pg_catalog", Name: "int8"},
			Volatility: catalog.Volatile,
		},
		"with_out": {
			Args:       []catalog.Arg{{Name: "a", Type: "integer"}, {Name: "c", Type: "text", Mode: catalog.ArgInOut}},
			Columns:    []catalog.Result{{Name: "b", Type: "integer"}, {Name: "c", Type: "text"}},
			Returns:    catalog.Returns{Kind: catalog.ReturnsComposite, Type: "record", Schema: "pg_catalog", Name: "record"},
			Volatility: catalog.Volatile,
		},
		// PostgREST takes a lone OUT argument for a composite.
		"one_out": {
			Columns:    []catalog.Result{{Name: "b", Type: "integer"}},
			Returns:    catalog.Returns{Kind: catalog.ReturnsComposite, Type: "integer", Schema: "pg_catalog", Name: "int4"},
			Volatility: catalog.Volatile,
		},
		// A bare character or bit would cut values to one.
		"cut": {
			Args: []catalog.Arg{
				{Name: "a", Type: "character", CastType: "character varying"},
				{Name: "b", Type: "bit", CastType: "bit varying"},
				{Name: "c", Type: "character[]", CastType: "character varying[]"},
			},
			Returns:    catalog.Returns{Kind: catalog.ReturnsVoid, Type: "void", Schema: "pg_catalog", Name: "void"},
			Volatility: catalog.Volatile,
		},
		"slow": {
			Returns:    catalog.Returns{Kind: catalog.ReturnsVoid, Type: "void", Schema: "pg_catalog", Name: "void"},
			Volatility: catalog.Volatile,
			Settings:   []catalog.Setting{{Name: "statement_timeout", Value: "5s"}, {Name: "search_path", Value: "public, extra"}},
		},
		"mail": {
			Returns:    catalog.Returns{Kind: catalog.ReturnsScalar, Type: "public.email", Schema: "pg_catalog", Name: "text", Domain: true},
			Volatility: catalog.Volatile,
		},
		"addresses": {
			Returns:    catalog.Returns{Kind: catalog.ReturnsComposite, Set: true, Type: "public.address", Schema: "public", Name: "address"},
			Volatility: catalog.Volatile,
		},
		"all_rooms": {
			Args:       []catalog.Arg{{Name: "p", Type: "public.people"}},
			Returns:    catalog.Returns{Kind: catalog.ReturnsComposite, Set: true, Type: "public.rooms", Schema: "public", Name: "rooms", Relation: true},
			Volatility: catalog.Stable,
		},
	}
	for f := range c.Functions {
		w, ok := want[f.Name]
		if !ok {
			continue
		}
		delete(want, f.Name)
		w.Schema, w.Name = "public", f.Name
		if diff := cmp.Diff(w, *f); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.Name, diff)
		}
	}
	for name := range want {
		t.Errorf("no function %s", name)
	}
	slow, err := c.Function("public", "slow", catalog.Call{})
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := slow.Setting("statement_timeout"); !ok || v != "5s" {
		t.Errorf("statement_timeout = %q, %v", v, ok)
	}
	sum, err := c.Function("public", "sum_all", catalog.Call{Args: []string{"label", "xs"}})
	if err != nil {
		t.Fatal(err)
	}
	if !sum.Variadic() || slow.Variadic() {
		t.Error("only sum_all is variadic")
	}
}
