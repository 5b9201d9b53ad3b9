// Package repo has no code: its tests hold what is true of the repository as a whole. They check
// which package may import which (imports_test.go), the length of files and what must be documented
// (files_test.go), and that the code in README.md compiles and is what the Examples run
// (readme_test.go). Each check is also run on made-up input that breaks its rule, so it is known to
// be able to fail.
package repo
