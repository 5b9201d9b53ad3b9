package repo_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fieldCases is how many failures reported from the field are replayed, each by a test named
// after it: TestFieldCaseO01 and so on, which "make field" runs.
const fieldCases = 25

func TestFieldCases(t *testing.T) {
	t.Parallel()
	sources := map[string][]byte{}
	for _, file := range goFiles(t, root) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		sources[file] = src
	}
	report(t, checkFieldCases(sources, fieldCases))
}

func TestFieldCasesCheckCanFail(t *testing.T) {
	t.Parallel()
	sources := map[string][]byte{
		"a/a_test.go": []byte("package a\n\n// It is replayed.\nfunc TestFieldCaseO01(t *testing.T) {}\n\nfunc TestFieldCaseO03(t *testing.T) {}\n"),
		"b/b_test.go": []byte("package b\n\n// It is, too.\nfunc TestFieldCaseO04(t *testing.T) {}\n\n// Again.\nfunc TestFieldCaseO01(t *testing.T) {}\n\n// No such case.\nfunc TestFieldCaseO5(t *testing.T) {}\n"),
		"c/c_test.go": []byte("package c\n\nvar text = \"func TestFieldCaseO02(t *testing.T)\"\n"),
	}
	wantProblems(t, checkFieldCases(sources, 4), "TestFieldCaseO01 is there 2 times", "TestFieldCaseO02 is there 0 times", "TestFieldCaseO03 has no comment", "TestFieldCaseO5 is none of the cases")
}

// checkFieldCases looks for one test for each case, with a comment.
func checkFieldCases(sources map[string][]byte, cases int) []string {
	var problems []string
	found := map[string]int{}
	fset := token.NewFileSet()
	for file, src := range sources {
		f, err := parser.ParseFile(fset, file, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "TestFieldCaseO") {
				continue
			}
			found[fn.Name.Name]++
			if fn.Doc == nil {
				problems = append(problems, fmt.Sprintf("%s: %s has no comment: say what happened, where, and what must hold", file, fn.Name.Name))
			}
		}
	}
	for n := 1; n <= cases; n++ {
		name := fmt.Sprintf("TestFieldCaseO%02d", n)
		if found[name] != 1 {
			problems = append(problems, fmt.Sprintf("%s is there %d times, want one", name, found[name]))
		}
		delete(found, name)
	}
	for name := range found {
		problems = append(problems, name+" is none of the cases")
	}
	return problems
}
