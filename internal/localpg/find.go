package localpg

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// MissingError says that a program this package runs is not on this machine, and how to get it.
type MissingError struct {
	Program string // "postgres" or "pgbouncer"
	Looked  []string
	Install string // a command or an advice that installs it
}

// Error names the program, the places that were searched and what to install.
func (e *MissingError) Error() string {
	return fmt.Sprintf("localpg: no %s found (looked in %s); install it: %s", e.Program, strings.Join(e.Looked, ", "), e.Install)
}

// FindPostgres returns the directory that holds initdb and postgres: that of the postgres on PATH, of
// `pg_config --bindir`, of the highest version below /usr/lib/postgresql (Debian and Ubuntu),
// /usr/pgsql-* (Red Hat), or of Homebrew. The error is a [*MissingError].
func FindPostgres() (string, error) {
	var looked []string
	for _, place := range []struct {
		name string
		dirs func() []string
	}{
		{"PATH", func() []string { return pathDirs("postgres") }},
		{"pg_config --bindir", pgConfigDirs},
		{"/usr/lib/postgresql/*/bin", func() []string { return globVersions("/usr/lib/postgresql/*/bin") }},
		{"/usr/pgsql-*/bin", func() []string { return globVersions("/usr/pgsql-*/bin") }},
		{"/opt/homebrew/opt/postgresql*/bin", func() []string { return globVersions("/opt/homebrew/opt/postgresql*/bin") }},
		{"/usr/local/opt/postgresql*/bin", func() []string { return globVersions("/usr/local/opt/postgresql*/bin") }},
	} {
		looked = append(looked, place.name)
		for _, dir := range place.dirs() {
			if isProgram(filepath.Join(dir, "postgres")) && isProgram(filepath.Join(dir, "initdb")) {
				return dir, nil
			}
		}
	}
	return "", &MissingError{Program: "postgres", Looked: looked, Install: installHint("postgresql", "postgresql-server")}
}

// FindPgBouncer returns the path of pgbouncer, from PATH, /usr/sbin, /usr/local/sbin or Homebrew.
// The error is a [*MissingError].
func FindPgBouncer() (string, error) {
	looked := []string{"PATH"}
	if p, err := exec.LookPath("pgbouncer"); err == nil {
		return filepath.Abs(p)
	}
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin", "/opt/homebrew/sbin"} {
		looked = append(looked, dir)
		if p := filepath.Join(dir, "pgbouncer"); isProgram(p) {
			return p, nil
		}
	}
	return "", &MissingError{Program: "pgbouncer", Looked: looked, Install: installHint("pgbouncer", "pgbouncer")}
}

// pathDirs returns the directory of a program on PATH, behind its symbolic links: a link to
// postgres alone says where initdb is.
func pathDirs(program string) []string {
	p, err := exec.LookPath(program)
	if err != nil {
		return nil
	}
	if p, err = filepath.Abs(p); err != nil {
		return nil
	}
	if real, err := filepath.EvalSymlinks(p); err == nil {
		p = real
	}
	return []string{filepath.Dir(p)}
}

func pgConfigDirs() []string {
	out, err := exec.Command("pg_config", "--bindir").Output()
	if err != nil {
		return nil
	}
	return []string{strings.TrimSpace(string(out))}
}

// globVersions returns the directories that match, the highest version first.
func globVersions(pattern string) []string {
	dirs, _ := filepath.Glob(pattern) // the only error is that of a malformed pattern
	slices.SortStableFunc(dirs, func(a, b string) int { return versionIn(b) - versionIn(a) })
	return dirs
}

// versionIn returns the first number in a path, 0 if there is none.
func versionIn(path string) int {
	start := strings.IndexAny(path, "0123456789")
	if start < 0 {
		return 0
	}
	end := start
	for end < len(path) && path[end] >= '0' && path[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(path[start:end])
	if err != nil {
		return 0
	}
	return n
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&fs.FileMode(0o111) != 0
}

func installHint(debian, redhat string) string {
	switch {
	case runtime.GOOS == "darwin":
		return "brew install " + debian
	case isProgram("/usr/bin/apt-get"):
		return "apt-get install " + debian
	case isProgram("/usr/bin/dnf"):
		return "dnf install " + redhat
	default:
		return "your system's package " + debian + ", or put the program on PATH"
	}
}
