package pgtest

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// File returns the absolute path of a file of this repository, given its slash-separated path from the
// module's root.
func File(name string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, filepath.FromSlash(name)), nil
}

// moduleRoot finds the root by this file's own path, as the compiler recorded it, so that nested
// modules find it too. A build with -trimpath records no path; then it is looked for upwards from the
// working directory.
func moduleRoot() (string, error) {
	if _, self, _, ok := runtime.Caller(0); ok && filepath.IsAbs(self) {
		root := filepath.Join(filepath.Dir(self), "..", "..", "..")
		if isRoot(root) {
			return root, nil
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for !isRoot(dir) {
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("pgtest: the repository's root was not found; run the tests inside it, without -trimpath outside it")
		}
		dir = up
	}
	return dir, nil
}

func isRoot(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "testdata", "golden", "fixture.sql"))
	return err == nil
}
