package repo_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// The Go code in README.md and docs/*.md is of two kinds, and both are held to compile.
//
// A block that begins with a package clause is a whole file: it is type-checked and vetted as a
// package of this module, so it may import everything go.mod requires.
//
// Any other block is an excerpt of an Example, which go test compiles and, where it has an Output
// comment, runs. The line before the block's fence (blank lines do not count) names it:
//
//	<!-- from dbaccess/example_test.go ExampleAll -->
//
// The block's lines must then stand, one after the other, in the Example's body; indentation does not
// count, nor does the Output comment, which is not part of the body here. Blank lines at the block's
// ends do not count either.
//
// Blocks of other languages are not looked at.

func TestReadme(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			report(t, checkReadme(string(text), os.DirFS(root), t.TempDir()))
		})
	}
}

func TestReadmeCheckCanFail(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"x/example_test.go": {Data: []byte(`package x_test

func ExampleAll() {
	setUp()
	if ok {
		one()
	}
	two()
	// Output: 2
}
`)}}
	const from = "<!-- from x/example_test.go ExampleAll -->\n"
	block := func(code string) string { return "```go\n" + code + "\n```\n" }
	for _, tt := range []struct {
		name, readme string
		want         []string
	}{
		{"no code", "# twinpath\n\n```sh\nrm -rf\n```\n", nil},
		{"all of an example", from + "\n" + block("setUp()\nif ok {\n    one()\n}\ntwo()"), nil},
		{"part of an example", from + block("\n\tif ok {\n\t\tone()\n\t}"), nil},
		{"not that example", from + block("three()"), []string{"is not in ExampleAll"}},
		{"a line left out", from + block("setUp()\ntwo()"), []string{"is not in ExampleAll"}},
		{"another order", from + block("two()\nsetUp()"), []string{"is not in ExampleAll"}},
		{"nothing", from + block(""), []string{"is empty"}},
		{"no origin", "text\n\n" + block("one()"), []string{"line 3: name the Example"}},
		{"origin of another block", from + "text\n" + block("one()"), []string{"line 3: name the Example"}},
		{"no such file", "<!-- from y_test.go ExampleAll -->\n" + block("one()"), []string{"y_test.go"}},
		{"no such example", "<!-- from x/example_test.go ExampleNone -->\n" + block("one()"), []string{"ExampleNone"}},
		{"never closed", from + "```go\none()\n", []string{"never closed"}},
		{"a file", block("package main\n\nimport \"github.com/twinpath/twinpath/dbaccess/query\"\n\nfunc main() { _ = query.From }"), nil},
		{"a file that does not compile", block("package main\n\nfunc main() { undefinedName() }"), []string{"undefinedName"}},
		{"a file that vet dislikes", block("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Printf(\"%d\\n\", \"x\") }"), []string{"%d"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantProblems(t, checkReadme(tt.readme, files, t.TempDir()), tt.want...)
		})
	}
}

var origin = regexp.MustCompile(`^<!-- from (\S+) (Example\w*) -->$`)

// checkReadme checks all Go blocks. Examples are read from tree; scratch is an empty directory.
func checkReadme(readme string, tree fs.FS, scratch string) []string {
	var problems []string
	lines := strings.Split(readme, "\n")
	before := "" // the last line that is not blank
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if line == "" {
			continue
		}
		if !strings.HasPrefix(line, "```") {
			before = line
			continue
		}
		start := i
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; i++ {
		}
		if i == len(lines) {
			return append(problems, fmt.Sprintf("README.md line %d: the block is never closed", start+1))
		}
		if line == "```go" {
			if err := checkBlock(lines[start+1:i], before, tree, scratch); err != nil {
				problems = append(problems, fmt.Sprintf("README.md line %d: %v", start+1, err))
			}
		}
		before = ""
	}
	return problems
}

func checkBlock(code []string, before string, tree fs.FS, scratch string) error {
	code = trimBlank(code)
	if len(code) == 0 {
		return errors.New("the block is empty")
	}
	for _, line := range code {
		if strings.HasPrefix(line, "package ") {
			return vetFile(strings.Join(code, "\n")+"\n", scratch)
		}
		if line != "" && !strings.HasPrefix(line, "//") {
			break
		}
	}
	m := origin.FindStringSubmatch(before)
	if m == nil {
		return errors.New("name the Example that the block is from: <!-- from path/to/example_test.go ExampleName -->")
	}
	body, err := exampleBody(tree, m[1], m[2])
	if err != nil {
		return err
	}
	if !containsLines(body, code) {
		return fmt.Errorf("the block is not in %s of %s, line for line", m[2], m[1])
	}
	return nil
}

// exampleBody returns the lines of a function without its braces and Output comment.
func exampleBody(tree fs.FS, file, name string) ([]string, error) {
	src, err := fs.ReadFile(tree, file)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Name.Name != name || fn.Recv != nil || fn.Body == nil {
			continue
		}
		body := string(src[fset.Position(fn.Body.Lbrace).Offset+1 : fset.Position(fn.Body.Rbrace).Offset])
		body, _, _ = strings.Cut(body, "// Output:")
		body, _, _ = strings.Cut(body, "// Unordered output:")
		return trimBlank(strings.Split(body, "\n")), nil
	}
	return nil, fmt.Errorf("%s has no function %s", file, name)
}

// containsLines reports whether part stands in all, line for line, whatever the indentation.
func containsLines(all, part []string) bool {
	for start := range all {
		if start+len(part) > len(all) {
			return false
		}
		same := true
		for i, line := range part {
			if strings.TrimSpace(line) != strings.TrimSpace(all[start+i]) {
				same = false
				break
			}
		}
		if same {
			return true
		}
	}
	return false
}

func trimBlank(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// vetFile vets source code as a package of this module. An overlay shows it to the go command in a
// directory that exists, as vet changes to it, but has no Go files; nothing is written to the source tree.
func vetFile(src, scratch string) error {
	file, err := os.CreateTemp(scratch, "*.go")
	if err != nil {
		return err
	}
	_, err = file.WriteString(src)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	top, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	const virtual = "testdata/golden"
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(top, virtual, "block.go"): file.Name()}})
	if err != nil {
		return err
	}
	overlayFile := file.Name() + ".json"
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		return err
	}
	cmd := exec.Command("go", "vet", "-overlay", overlayFile, "./"+virtual)
	cmd.Dir = top
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the file does not pass go vet: %w\n%s", err, out)
	}
	return nil
}
