package corpus_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/golden/corpus"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// fixedWay answers by case.
type fixedWay map[string]func() (*corpus.Answer, error)

func (fixedWay) Name() string { return corpus.NameDirect }

func (w fixedWay) Run(_ context.Context, c *corpus.Case) (*corpus.Answer, error) { return w[c.ID]() }

func report(t *testing.T) *corpus.Report {
	t.Helper()
	cases := &corpus.Corpus{Cases: []corpus.Case{
		{ID: "a-good", Status: 200, Response: "[]"},
		{ID: "a-bad", Status: 200, Response: "[]"},
		{ID: "b-lacking", Status: 200, Response: "[]"},
		{ID: "b-broken", Status: 200, Response: "[]"},
	}}
	return corpus.Run(t.Context(), cases, fixedWay{
		"a-good":    func() (*corpus.Answer, error) { return &corpus.Answer{Status: 200, Body: []byte("[]")}, nil },
		"a-bad":     func() (*corpus.Answer, error) { return &corpus.Answer{Status: 200, Body: []byte("[1]")}, nil },
		"b-lacking": func() (*corpus.Answer, error) { return nil, &query.UnsupportedError{Node: "embed"} },
		"b-broken":  func() (*corpus.Answer, error) { return nil, errors.New("no route") },
	})
}

func TestReport(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := report(t).Write(&b, true); err != nil {
		t.Fatal(err)
	}
	want := `golden direct 1/4
  a        1/2
  b        0/2
  a-bad: the body: 1 elements, want 0
  b-lacking: unsupported: query: unsupported: embed: 
  b-broken: no answer: no route
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestWantedCases(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "golden.want")
	if w, err := corpus.ReadWant(file); err != nil || len(w) != 0 {
		t.Errorf("a missing file: %v, %v", w, err)
	}
	if err := os.WriteFile(file, []byte("# why\n\ndirect b-lacking\nrest a-good\ndirect gone\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want, err := corpus.ReadWant(file)
	if err != nil {
		t.Fatal(err)
	}
	r := report(t)
	missing := []string{
		"direct b-lacking: unsupported: query: unsupported: embed: ",
		"direct gone: there is no such case, or it was not run",
	}
	if diff := cmp.Diff(missing, r.Missing(want)); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	// It only grows.
	if added := want.Grow(r); added != 1 {
		t.Errorf("grown by %d, want 1", added)
	}
	if added := want.Grow(r); added != 0 {
		t.Errorf("grown by %d at the second time, want 0", added)
	}
	if err := want.Write(file); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(b); !strings.HasSuffix(got, "\ndirect a-good\ndirect b-lacking\ndirect gone\n\nrest a-good\n") {
		t.Errorf("file = %q", got)
	}
}

func TestWantedCasesThatCantBeRead(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"direct\n", "sideways filter-eq\n"} {
		file := filepath.Join(t.TempDir(), "golden.want")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := corpus.ReadWant(file); err == nil || !strings.Contains(err.Error(), "golden.want:1") {
			t.Errorf("%q: error = %v, want one that names the line", content, err)
		}
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	cases, err := corpus.Load(testdata(t, "golden"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(cases.Cases); n != 309 {
		t.Errorf("%d cases, want 309", n)
	}
	for name, tt := range map[string]struct{ cases, want string }{
		"empty":     {"", "empty"},
		"no id":     {`{"as":"anon"}`, "line 1"},
		"twice":     {"{\"id\":\"a\",\"as\":\"anon\"}\n{\"id\":\"a\",\"as\":\"anon\"}", "line 2"},
		"no token":  {`{"id":"a","as":"eve"}`, "eve"},
		"not JSON":  {`{`, "line 1"},
		"not there": {"-", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "tokens.json"), []byte(`{"alice":"x"}`), 0o600); err != nil {
				t.Fatal(err)
			}
			if tt.cases != "-" {
				if err := os.WriteFile(filepath.Join(dir, "cases.jsonl"), []byte(tt.cases), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := corpus.Load(dir); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want %q in it", err, tt.want)
			}
		})
	}
}
