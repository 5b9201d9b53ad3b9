package compile

import (
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// callFunction writes the call. What the function returns is read like a table,
// whose name is that of its rows' type, or of the function.
func (w *sqlWriter) callFunction() error {
	if w.catalog == nil {
		return ErrNeedsCatalog
	}
	a, err := argumentsOf(w.spec.Call)
	if err != nil {
		return err
	}
	f, err := w.catalog.Function(w.schema, w.spec.From, a.call)
	if err != nil {
		return err
	}
	if w.spec.Call.MaxAffected != 0 && !f.Returns.Set {
		return refuse(http.StatusBadRequest, codeMaxAffectedCall,
			"Function must return SETOF or TABLE when max-affected preference is used with handling=strict")
	}
	w.call, w.name = f, f.Resource().Name

	w.str("select ")
	if err := w.returnedColumns(f); err != nil {
		return err
	}
	w.str(" from ")
	whole := len(f.Args) == 1 && f.Args[0].Name == ""
	if !whole && a.json != nil && len(a.call.Args) > 0 {
		w.argumentRow(f, &a)
		w.str(", lateral ")
	}
	scalar := f.Returns.Kind != catalog.ReturnsComposite
	if scalar {
		w.str("(select ")
	}
	w.buf = quoteIdent(w.buf, f.Schema)
	w.str(".")
	w.buf = quoteIdent(w.buf, f.Name)
	w.str("(")
	switch {
	case whole:
		w.wholeArgument(f, &a)
	case a.json != nil:
		w.rowArguments(f, &a)
	default:
		w.textArguments(f, &a)
	}
	w.str(")")
	if scalar {
		w.str(" " + scalarName + ")")
	}
	w.str(" " + callName)
	return nil
}

// returnedColumns writes the columns that the select list and the filters need.
func (w *sqlWriter) returnedColumns(f *catalog.Function) error {
	if f.Returns.Kind != catalog.ReturnsComposite {
		w.str(callName + "." + scalarName)
		return nil
	}
	all, names, err := w.needed(f.Resource(), nil)
	if err != nil {
		return err
	}
	if all || len(names) == 0 {
		w.str(callName + ".*")
		return nil
	}
	for _, e := range w.spec.Where {
		names = w.filtered(names, e)
	}
	slices.Sort(names)
	for i, name := range slices.Compact(names) {
		if err := checkName("column", name); err != nil {
			return err
		}
		if i > 0 {
			w.str(", ")
		}
		w.str(callName + ".")
		w.buf = quoteIdent(w.buf, name)
	}
	return nil
}

// filtered adds the columns that a condition looks at.
func (w *sqlWriter) filtered(names []string, e query.Expr) []string {
	switch e := e.(type) {
	case query.Compare:
		return append(names, e.Column.Column)
	case query.InList:
		return append(names, e.Column.Column)
	case query.Is:
		if w.embeds(e.Column.Column) {
			return names
		}
		return append(names, e.Column.Column)
	case query.Negation:
		return w.filtered(names, e.Expr)
	case query.Logic:
		for _, c := range e.Exprs {
			names = w.filtered(names, c)
		}
	}
	return names
}

// embeds says whether the select list has an embed of that name.
func (w *sqlWriter) embeds(name string) bool {
	return slices.ContainsFunc(w.spec.Select, func(it query.Item) bool {
		e, ok := it.(query.Embed)
		return ok && e.Name() == name
	})
}

// given yields the function's arguments that the call has, in the function's
// order.
func given(f *catalog.Function, a *arguments) []*catalog.Arg {
	var args []*catalog.Arg
	for i := range f.Args {
		if slices.Contains(a.call.Args, f.Args[i].Name) {
			args = append(args, &f.Args[i])
		}
	}
	return args
}

// argumentRow writes the arguments as a row, read from JSON with the arguments'
// own types. Of an array of objects it is the first.
func (w *sqlWriter) argumentRow(f *catalog.Function, a *arguments) {
	object := isObject(a.json)
	if object {
		w.str("pg_catalog.json_to_record(")
	} else {
		w.str("(select * from pg_catalog.json_to_recordset(")
	}
	w.arg(string(a.json))
	w.str("::json) as " + bodyName + "(")
	for i, arg := range given(f, a) {
		if i > 0 {
			w.str(", ")
		}
		w.buf = quoteIdent(w.buf, arg.Name)
		w.str(" ")
		w.str(arg.Cast())
	}
	w.str(")")
	if !object {
		w.str(" limit 1) " + bodyName)
	}
}

func (w *sqlWriter) rowArguments(f *catalog.Function, a *arguments) {
	for i, arg := range given(f, a) {
		w.argumentName(i, arg)
		w.str(bodyName + ".")
		w.buf = quoteIdent(w.buf, arg.Name)
	}
}

func (w *sqlWriter) textArguments(f *catalog.Function, a *arguments) {
	for i, arg := range given(f, a) {
		w.argumentName(i, arg)
		w.arg(textOf(arg, a.text))
		w.str("::")
		w.str(arg.Cast())
	}
}

// textOf is an argument's text: of several the last, and of a variadic one all,
// as an array.
func textOf(arg *catalog.Arg, text []query.TextArg) string {
	var b strings.Builder
	last := ""
	for _, t := range text {
		if t.Name != arg.Name {
			continue
		}
		last = t.Value
		if b.Len() > 0 {
			b.WriteByte(',')
		} else {
			b.WriteByte('{')
		}
		quoteElement(&b, t.Value)
	}
	if arg.Mode != catalog.ArgVariadic {
		return last
	}
	b.WriteByte('}')
	return b.String()
}

func (w *sqlWriter) argumentName(i int, arg *catalog.Arg) {
	if i > 0 {
		w.str(", ")
	}
	if arg.Mode == catalog.ArgVariadic {
		w.str("variadic ")
	}
	w.buf = quoteIdent(w.buf, arg.Name)
	w.str(" := ")
}

// wholeArgument writes the body as the only argument.
func (w *sqlWriter) wholeArgument(f *catalog.Function, a *arguments) {
	text := string(a.json)
	if f.Args[0].Type == "bytea" {
		text = `\x` + hex.EncodeToString(a.json) // which escaping can't get wrong
	}
	w.arg(text)
	w.str("::")
	w.str(f.Args[0].Cast())
}

// callBody writes the answer's body in the function's shape: one value, one row
// or a list of either. It is worked out even where there is none, because the
// planner would leave out the call of a function that promises to do nothing but
// return.
func (w *sqlWriter) callBody() {
	r := &w.call.Returns
	empty := w.spec.Head || r.Kind == catalog.ReturnsVoid
	if empty {
		w.str("pg_catalog.left(")
	}
	scalar := r.Kind != catalog.ReturnsComposite
	w.str("coalesce(pg_catalog.json_agg(_t.")
	if scalar && (!r.Set || !w.spec.Single) {
		w.str(scalarName)
	} else {
		w.str("*")
	}
	if r.Set && !w.spec.Single {
		w.str("),'[]')::text")
	} else {
		w.str(")->0,'null')::text")
	}
	if empty {
		w.str(", 0)")
	}
}

// called notes what the transaction of a call is to be.
func (w *sqlWriter) called(p *Program) {
	p.ReadOnly = w.spec.Call.ReadOnly || w.call.ReadOnly()
	p.Void = w.call.Returns.Kind == catalog.ReturnsVoid
	for _, s := range w.call.Settings {
		switch s.Name {
		case "statement_timeout", "plan_filter.statement_cost_limit", "default_transaction_isolation":
			p.Settings = append(p.Settings, s)
		}
	}
}
