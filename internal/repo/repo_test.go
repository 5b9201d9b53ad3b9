package repo_test

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	// root is the repository's root, seen from where go test runs these tests.
	root = "../.."

	modulePath = "github.com/twinpath/twinpath"
)

// report fails the test once for each problem.
func report(t *testing.T, problems []string) {
	t.Helper()
	for _, p := range problems {
		t.Error(p)
	}
}

// wantProblems checks that a rule broken on purpose is reported: one problem for each want, in any
// order, which contains it.
func wantProblems(t *testing.T, got []string, want ...string) {
	t.Helper()
	left := slices.Clone(got)
	for _, w := range want {
		i := slices.IndexFunc(left, func(s string) bool { return strings.Contains(s, w) })
		if i < 0 {
			t.Errorf("no problem names %q in %q", w, got)
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	if len(left) > 0 {
		t.Errorf("problems nobody expected: %q", left)
	}
}

// goFiles returns the slash-separated paths, from dir, of all Go files below it, nested modules
// included, but for those in hidden directories, testdata and node_modules.
func goFiles(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != dir && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(name, ".go") {
			rel, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
