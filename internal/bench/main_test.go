package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestGates runs the command, built without the race detector: that one makes sync.Pool forget at random,
// so what is allocated under it says nothing.
func TestGates(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "bench")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), program, "-gates", "-quick", "-run", "trips|1row|50rows|32callers|spaced|rest|middleware|decision").CombinedOutput()
	if err != nil {
		t.Errorf("the command ended with %v\n%s", err, out)
	}
	gates := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "budget" {
			continue
		}
		gates++
		if len(fields) != 5 || fields[4] != ok {
			t.Errorf("got %q, want a line that ends in ok", line)
		}
	}
	if want := 12; gates < want {
		t.Errorf("%d gates were measured, want at least %d", gates, want)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-nonsense"}, {"-run", "("}, {"-readme", "README.md", "-gates"}, {"-readme", "README.md", "-run", "rest"}} {
		var out, errOut strings.Builder
		if status := run(t.Context(), args, &out, &errOut); status != statusFailed || errOut.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: status %d, %q, %q", args, status, out.String(), errOut.String())
		}
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		budget budget
		status int
		want   string
	}{
		{"gate kept", budget{got: exactly(1), limit: 1}, 0, "budgets: 1 ok, 0 missed, 0 in the noise\n"},
		{"gate missed", budget{got: exactly(1.1), limit: 1}, statusMissed, "budgets: 0 ok, 1 missed, 0 in the noise\n"},
		{"time missed", budget{got: interval{1.2, 1.1, 1.3}, limit: 1, timed: true}, 0, "budgets: 0 ok, 1 missed, 0 in the noise\n"},
		{"time in the noise", budget{got: interval{1, 0.9, 1.3}, limit: 1, timed: true}, 0, "budgets: 0 ok, 0 missed, 1 in the noise\n"},
		{"no limit", budget{got: exactly(2), limit: 1, info: true}, 0, "budgets: 0 ok, 0 missed, 0 in the noise\n"},
	} {
		var out strings.Builder
		if status := summary(&out, []budget{tt.budget}); status != tt.status || out.String() != tt.want {
			t.Errorf("%s: status %d, %q; want %d, %q", tt.name, status, out.String(), tt.status, tt.want)
		}
	}
}
