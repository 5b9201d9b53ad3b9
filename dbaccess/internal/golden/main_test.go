package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A wanted case that does not pass fails the run, and an update keeps it.
func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "golden"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fixture.sql", "tokens.json", "cases.jsonl"} {
		b, err := os.ReadFile(filepath.Join("../../../testdata/golden", name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "cases.jsonl" {
			lines := bytes.SplitAfter(b, []byte("\n"))
			b = bytes.Join(lines[:2], nil)
			b = bytes.Replace(b, []byte(`"status": 200`), []byte(`"status": 206`), 1) // now the first can't pass
		}
		if err := os.WriteFile(filepath.Join(dir, "golden", name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := filepath.Join(dir, "golden.want")
	if err := os.WriteFile(want, []byte("direct filter-eq\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ok, err := run(t.Context(), dir, true, false)
	if err != nil {
		t.Fatal(err)
	}
	if ok {
		t.Error("the run passed although a wanted case did not")
	}
	b, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"direct filter-eq\n", "direct filter-neq\n", "stand-in filter-neq\n", "rest filter-neq\n"} {
		if !strings.Contains(string(b), line) {
			t.Errorf("golden.want lacks %q: %s", line, b)
		}
	}
	if strings.Contains(string(b), "rest filter-eq\n") {
		t.Error("golden.want has a case that does not pass")
	}
}
