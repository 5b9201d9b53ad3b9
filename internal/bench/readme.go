package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
)

// What the table in the README stands between.
const (
	tableBegin = "<!-- bench -->"
	tableEnd   = "<!-- /bench -->"
)

var errNoMarkers = errors.New("it has no lines " + tableBegin + " and " + tableEnd + " to put the table between")

// writeReadme puts the table into a file and leaves all else in it as it is.
func writeReadme(path, table string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	updated, err := replaceTable(old, table)
	if err != nil || bytes.Equal(old, updated) {
		return err
	}
	return os.WriteFile(path, updated, 0o644)
}

func replaceTable(readme []byte, table string) ([]byte, error) {
	before, rest, found := bytes.Cut(readme, []byte(tableBegin+"\n"))
	if !found {
		return nil, errNoMarkers
	}
	_, after, found := bytes.Cut(rest, []byte(tableEnd))
	if !found {
		return nil, errNoMarkers
	}
	return bytes.Join([][]byte{before, []byte(tableBegin + "\n" + table + tableEnd), after}, nil), nil
}

// table is the README's: a row for each thing measured, and in it all that was measured of it.
func table(budgets []budget, machine string) string {
	var b strings.Builder
	b.WriteString("| | against | measured, and the most it may be |\n|---|---|---|\n")
	what := ""
	for i := range budgets {
		r := &budgets[i]
		switch {
		case r.info:
			continue
		case r.what == what:
			b.WriteString(" · ")
		default:
			if what != "" {
				b.WriteString(" |\n")
			}
			what = r.what
			fmt.Fprintf(&b, "| %s | %s | ", what, cmp.Or(r.against, "–"))
		}
		fmt.Fprintf(&b, "%s %s (%s)", r.quantity, withUnit(r.got.mid, r.unit), withUnit(r.limit, r.unit))
		if v := r.verdict(); v != ok {
			fmt.Fprintf(&b, " **%s**", v)
		}
	}
	fmt.Fprintf(&b, " |\n\n%s\n", machine)
	return b.String()
}

func withUnit(v float64, unit string) string {
	if unit == "ns" {
		unit = " ns"
	}
	return number(v, unit) + unit
}
