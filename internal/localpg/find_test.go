package localpg_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/internal/localpg"
)

func TestFind(t *testing.T) {
	dir, err := localpg.FindPostgres()
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"initdb", "postgres"} {
		if _, err := os.Stat(filepath.Join(dir, program)); err != nil {
			t.Error(err)
		}
	}

	// A link on PATH to postgres alone leads to the directory that has both.
	links := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "postgres"), filepath.Join(links, "postgres")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", links)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := localpg.FindPostgres(); err != nil || got != real {
		t.Errorf("FindPostgres() = %q, %v; want %q", got, err, real)
	}

	// A pgbouncer on PATH comes first.
	fake := filepath.Join(links, "pgbouncer")
	if err := os.WriteFile(fake, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := localpg.FindPgBouncer(); err != nil || got != fake {
		t.Errorf("FindPgBouncer() = %q, %v; want %q", got, err, fake)
	}
}

func TestMissingErrorSaysWhatToInstall(t *testing.T) {
	t.Parallel()
	var err error = &localpg.MissingError{Program: "pgbouncer", Looked: []string{"PATH", "/usr/sbin"}, Install: "apt-get install pgbouncer"}
	var missing *localpg.MissingError
	if !errors.As(err, &missing) {
		t.Fatal("not a MissingError")
	}
	for _, want := range []string{"no pgbouncer found", "PATH, /usr/sbin", "apt-get install pgbouncer"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
}
