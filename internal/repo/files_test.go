package repo_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxLines is the longest a file may be that is not a test.
const maxLines = 500

func TestFiles(t *testing.T) {
	t.Parallel()
	sources := map[string][]byte{}
	for _, file := range goFiles(t, root) {
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		sources[file] = src
	}
	if len(sources) < 10 {
		t.Fatalf("%d Go files were found: this test would prove nothing", len(sources))
	}
	report(t, checkFiles(sources))
}

func TestFilesCheckCanFail(t *testing.T) {
	t.Parallel()
	long := "// Package p is fine.\npackage p\n" + strings.Repeat("\n", maxLines)
	for _, tt := range []struct {
		name    string
		sources map[string]string
		want    []string
	}{
		{"fine", map[string]string{"p/doc.go": "// Package p is fine.\npackage p\n", "p/p.go": "package p\n\ntype Config struct {\n\t// A is a thing. Defaults to 1.\n\tA int\n\tb int\n}\n"}, nil},
		{"tests may be long", map[string]string{"p/p.go": "// Package p is fine.\npackage p\n", "p/p_test.go": long}, nil},
		{"too long", map[string]string{"p/p.go": long}, []string{"502 lines"}},
		{"no package comment", map[string]string{"p/p.go": "package p\n", "p/q.go": "//go:build linux\n\npackage p\n"}, []string{"p: no file has a package comment"}},
		{"only the test has one", map[string]string{"p/p.go": "package p\n", "p/p_test.go": "// Package p is fine.\npackage p\n"}, []string{"p: no file has a package comment"}},
		{"no default", map[string]string{"p/p.go": "// Package p is fine.\npackage p\n\ntype PoolConfig struct {\n\t// Size is the size.\n\tSize, Width int\n\tA int // Required.\n}\n"},
			[]string{"PoolConfig.Size", "PoolConfig.Width"}},
		{"no comment", map[string]string{"p/p.go": "// Package p is fine.\npackage p\n\ntype Config struct{ A int }\n"}, []string{"Config.A"}},
		{"does not parse", map[string]string{"p/p.go": "// Package p is fine.\npackage 7\n"}, []string{"p/p.go:2", "p: no file has a package comment"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sources := map[string][]byte{}
			for file, src := range tt.sources {
				sources[file] = []byte(src)
			}
			wantProblems(t, checkFiles(sources), tt.want...)
		})
	}
}

// checkFiles checks files given by their path from the root.
func checkFiles(sources map[string][]byte) []string {
	var problems []string
	commented := map[string]bool{} // by directory
	fset := token.NewFileSet()
	for file, src := range sources {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		if n := bytes.Count(src, []byte("\n")); n > maxLines {
			problems = append(problems, fmt.Sprintf("%s has %d lines; %d is the most: one type or stage a file", file, n, maxLines))
		}
		dir := path.Dir(file)
		f, err := parser.ParseFile(fset, file, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			problems = append(problems, err.Error())
			commented[dir] = commented[dir] || false
			continue
		}
		commented[dir] = commented[dir] || strings.TrimSpace(f.Doc.Text()) != ""
		problems = append(problems, checkConfigs(file, f)...)
	}
	for dir, ok := range commented {
		if !ok {
			problems = append(problems, dir+": no file has a package comment; say in doc.go what the package is for and how to begin")
		}
	}
	slices.Sort(problems)
	return problems
}

// checkConfigs checks that the comment of every exported field of a struct named …Config says what
// happens when it is left out.
func checkConfigs(file string, f *ast.File) []string {
	var problems []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || !spec.Name.IsExported() || !strings.HasSuffix(spec.Name.Name, "Config") {
			return true
		}
		fields, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range fields.Fields.List {
			doc := field.Doc.Text() + field.Comment.Text()
			if strings.Contains(doc, "Default") || strings.Contains(doc, "Required") || strings.Contains(doc, "Optional") {
				continue
			}
			for _, name := range field.Names {
				if name.IsExported() {
					problems = append(problems, fmt.Sprintf("%s: the comment of %s.%s has no \"Defaults to …\", \"Required\" or \"Optional\"", file, spec.Name.Name, name.Name))
				}
			}
		}
		return true
	})
	return problems
}
