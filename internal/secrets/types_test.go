package secrets_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	root       = "../.."
	modulePath = "github.com/twinpath/twinpath"
)

// What fmt, slog and encoding/json make of an exported type is for logs, which are
// for many eyes.
func TestNothingIsPrinted(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(decided)) {
		d := decided[name]
		if d.typ == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := planted(d.typ)
			kinds := map[string]any{"pointer": v.Addr().Interface()}
			if !d.byPointer {
				kinds["value"] = v.Interface()
			}
			found := false
			for kind, value := range kinds {
				for how, text := range shown(value) {
					if !holds(text) {
						continue
					}
					if found = true; !d.carries {
						t.Errorf("the %s shows its secrets to %s: %s", kind, how, text)
					}
				}
			}
			if d.carries && !found {
				t.Error("it does not show its secrets any more: let decided_test.go say that it hides them")
			}
		})
	}
}

func TestPlanterCanFail(t *testing.T) {
	t.Parallel()
	type inner struct{ b []byte }
	for name, v := range map[string]any{
		"string":          struct{ S string }{canary},
		"bytes":           struct{ B []byte }{[]byte(canary)},
		"unexported":      struct{ i inner }{inner{[]byte(canary)}},
		"behind a string": fmt.Sprintf("%x", canary),
		"an error":        fmt.Errorf("no: %s", canary),
	} {
		found := false
		for _, text := range shown(v) {
			found = found || holds(text)
		}
		if !found {
			t.Errorf("%s: not found", name)
		}
	}
}

// TestEveryTypeIsDecided demands a decision about each exported struct type that
// could hold a secret.
func TestEveryTypeIsDecided(t *testing.T) {
	t.Parallel()
	found := exportedStructs(t, root)
	if len(found) < 40 {
		t.Fatalf("%d types found: is that this module?", len(found))
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if _, ok := decided[name]; !ok && found[name] != "" {
			t.Errorf("%s has a field that may hold a secret (%s): say in decided_test.go what is shown of it", name, found[name])
		}
	}
	for name := range decided {
		if _, ok := found[name]; !ok {
			t.Errorf("there is no type %s: take it out of decided_test.go", name)
		}
	}
}

// exportedStructs finds the exported struct types that applications can import,
// each with a field that can hold text, if it has one.
func exportedStructs(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{"internal", "testdata", "example-app"}, d.Name()) || strings.HasPrefix(d.Name(), ".") && path != root):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				ts, ok := spec.(*ast.TypeSpec)
				if !ok || !ts.Name.IsExported() {
					continue
				}
				if s, ok := ts.Type.(*ast.StructType); ok {
					found[f.Name.Name+"."+ts.Name.Name] = suspicious(s)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// suspicious returns the first field that is not surely a number, a time or a
// lock, "" for none.
func suspicious(s *ast.StructType) string {
	for _, f := range s.Fields.List {
		if isPlain(f.Type) {
			continue
		}
		if len(f.Names) == 0 {
			return "embedded"
		}
		return f.Names[0].Name
	}
	return ""
}

func isPlain(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return slices.Contains([]string{
			"bool", "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
		}, e.Name)
	case *ast.SelectorExpr:
		p, ok := e.X.(*ast.Ident)
		if !ok {
			return false
		}
		name := p.Name + "." + e.Sel.Name
		return p.Name == "sync" || name == "time.Time" || name == "time.Duration" || p.Name == "atomic" && e.Sel.Name != "Pointer" && e.Sel.Name != "Value"
	case *ast.FuncType:
		return true
	}
	return false
}
