package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	t.Parallel()
	budgets := []budget{
		{name: "a/allocs", what: "reading", against: "pgx", quantity: "allocations", unit: "×", got: exactly(0.25), limit: 0.4},
		{name: "a/ns", what: "reading", against: "pgx", quantity: "time", unit: "×", got: interval{1, 0.9, 1.5}, limit: 1.35, timed: true},
		{name: "b/allocs", what: "asking", against: "pgx", quantity: "allocations", unit: "×", got: exactly(9), limit: 1, info: true},
		{name: "c/trips", what: "trips", quantity: "round trips", got: exactly(1), limit: 1},
		{name: "d/ns", what: "deciding", quantity: "time", unit: "ns", got: interval{400, 390, 410}, limit: 300, timed: true},
	}
	want := `| | against | measured, and the most it may be |
|---|---|---|
| reading | pgx | allocations 0.25× (0.40×) · time 1.00× (1.35×) **noise** |
| trips | – | round trips 1 (1) |
| deciding | – | time 400 ns (300 ns) **miss** |

Here.
`
	if diff := cmp.Diff(want, table(budgets, "Here.")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var lines string
	for i := range budgets {
		lines += budgets[i].String() + "\n"
	}
	want = `budget a/allocs 0.25 0.40 ok
budget a/ns 1.00 1.35 noise (0.90 to 1.50)
info b/allocs 9.00
budget c/trips 1 1 ok
budget d/ns 400 300 miss (390 to 410)
`
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestWriteReadme(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, readme, want string
		err                error
	}{
		{"first", "# t\n\n<!-- bench -->\n<!-- /bench -->\n\nend\n", "# t\n\n<!-- bench -->\nTABLE\n<!-- /bench -->\n\nend\n", nil},
		{"again", "<!-- bench -->\nOLD\nOLD\n<!-- /bench -->", "<!-- bench -->\nTABLE\n<!-- /bench -->", nil},
		{"none", "# t\n", "# t\n", errNoMarkers},
		{"no end", "<!-- bench -->\nx\n", "<!-- bench -->\nx\n", errNoMarkers},
		{"end first", "<!-- /bench -->\n<!-- bench -->\n", "<!-- /bench -->\n<!-- bench -->\n", errNoMarkers},
	} {
		path := filepath.Join(t.TempDir(), "README.md")
		if err := os.WriteFile(path, []byte(tt.readme), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := writeReadme(path, "TABLE\n"); !errors.Is(err, tt.err) {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}
