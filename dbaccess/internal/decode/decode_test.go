package decode_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
)

// rows reads a body into rows of T with a plan of its own.
func rows[T any](t *testing.T, body string, o decode.Options) ([]T, error) {
	t.Helper()
	return decode.Rows[T](planFor[T](t), []byte(body), o)
}

func planFor[T any](t *testing.T) *decode.Plan {
	t.Helper()
	plan, err := decode.PlanFor[T](new(decode.Cache))
	if err != nil {
		t.Fatalf("PlanFor[%s]: %v", reflect.TypeFor[T](), err)
	}
	return plan
}

// cell is a row with one column of the type under test.
type cell[T any] struct {
	V T `db:"v"`
}

// columnCase is what becomes of one JSON value in a column of one Go type.
type columnCase struct {
	name string
	run  func(t *testing.T)
}

// reads says that in, in a column of type T, becomes want. Row, scalar row and pointer have to agree on it.
func reads[T any](in string, want T) columnCase {
	return columnCase{name: caseName[T](in), run: func(t *testing.T) {
		t.Helper()
		got, err := rows[cell[T]](t, `[{"v":`+in+`}]`, decode.Options{})
		if err != nil {
			t.Fatalf("reading %s: %v", in, err)
		}
		if len(got) != 1 {
			t.Fatalf("got %d rows, want 1", len(got))
		}
		same(t, "column", want, got[0].V)
		pointers, err := rows[cell[*T]](t, `[{"v":`+in+`}]`, decode.Options{})
		if err != nil {
			t.Fatalf("reading %s into a pointer: %v", in, err)
		}
		if in != "null" {
			same(t, "pointer column", want, *pointers[0].V)
		} else if pointers[0].V != nil {
			t.Errorf("NULL into a pointer: got %v, want nil", *pointers[0].V)
		}
		if plan := planFor[T](t); plan.Scalar() {
			for _, body := range []string{`[{"v":` + in + `}]`, `[{ "other" : ` + in + ` } ]`} {
				scalars, err := decode.Rows[T](plan, []byte(body), decode.Options{})
				if err != nil {
					t.Fatalf("scalar row of %s: %v", body, err)
				}
				same(t, "scalar row", want, scalars[0])
			}
		}
	}}
}

// same compares as reflect.DeepEqual does, which sees the location of a time and the digits of a number, but takes NaN
// for itself.
func same[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if !reflect.DeepEqual(want, got) && fmt.Sprintf("%#v %#v", want, got) != "NaN NaN" {
		t.Errorf("%s (-want +got):\n%s", what, diffAll(want, got))
	}
}

// diffAll shows unexported fields too.
func diffAll(want, got any) string {
	return cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true }))
}

// refuses says that in, in a column of type T, is an error whose text has why in it, names column, row and type, and
// holds nothing of the value.
func refuses[T any](in, why string) columnCase {
	return columnCase{name: caseName[T](in), run: func(t *testing.T) {
		t.Helper()
		options := []decode.Options{{}}
		if !strings.Contains(in, "null") {
			options = append(options, decode.Options{NullAsZero: true}) // which forgives NULL and nothing else
		}
		for _, o := range options {
			got, err := rows[cell[T]](t, `[{"v":`+in+`}]`, o)
			if err == nil {
				t.Fatalf("reading %s: got %v, want an error", in, got)
			}
			if got != nil {
				t.Errorf("rows beside an error: %v", got)
			}
			var e *decode.TypeError
			if !asType(err, &e) {
				t.Fatalf("error is a %T, want *decode.TypeError: %v", err, err)
			}
			if e.Column == "" || !strings.HasPrefix(e.Column, "v") || e.Row != 0 || e.GoType == nil {
				t.Errorf("error does not say where: %#v", *e)
			}
			if !strings.Contains(err.Error(), why) {
				t.Errorf("error %q does not hold %q", err, why)
			}
			leaks(t, err, strings.Trim(in, `"[]{}`))
		}
	}}
}

// leaks fails when a text of err holds the value.
func leaks(t *testing.T, err error, value string) {
	t.Helper()
	if len(value) < 3 || slices.Contains([]string{"null", "infinity", "-infinity", "NaN", "Inf"}, value) {
		return // words that our own texts have
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if s := fmt.Sprintf(format, err); strings.Contains(s, value) {
			t.Errorf("%s of the error holds the value: %s", format, s)
		}
	}
}

func caseName[T any](in string) string {
	if len(in) > 40 {
		in = in[:40] + "…"
	}
	return reflect.TypeFor[T]().String() + "/" + strings.ReplaceAll(in, "/", "|")
}

func runColumns(t *testing.T, cases []columnCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}
