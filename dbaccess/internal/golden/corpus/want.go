package corpus

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Want is which cases must pass, by way.
type Want map[string][]string

const wantHead = `# The golden cases that must pass, one a line: way and case. The list may only
# grow: "go run ./dbaccess/internal/golden -update" adds the cases that pass now.
`

// ReadWant reads the file of wanted cases. One that doesn't exist wants nothing.
func ReadWant(file string) (Want, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		if os.IsNotExist(err) {
			return Want{}, nil
		}
		return nil, err
	}
	w := Want{}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		way, id, ok := strings.Cut(line, " ")
		if !ok || !slices.Contains([]string{NameStandIn, NameDirect, NameREST}, way) {
			return nil, fmt.Errorf("%s:%d: want a way and a case, such as %q", file, n, NameDirect+" filter-eq")
		}
		w[way] = append(w[way], id)
	}
	return w, lines.Err()
}

// Missing lists the wanted cases that did not pass, and why. Only ways that were
// run count.
func (r *Report) Missing(want Want) []string {
	var missing []string
	for _, way := range r.Ways {
		for _, id := range want[way] {
			if reason := r.Reason(way, id); reason != "" {
				missing = append(missing, fmt.Sprintf("%s %s: %s", way, id, reason))
			}
		}
	}
	return missing
}

// Grow adds the cases that passed, and returns how many were new.
func (w Want) Grow(r *Report) int {
	added := 0
	for _, way := range r.Ways {
		for _, id := range r.Passed(way) {
			if !slices.Contains(w[way], id) {
				w[way] = append(w[way], id)
				added++
			}
		}
	}
	return added
}

// Write writes the file, ways and cases in order.
func (w Want) Write(file string) error {
	var b strings.Builder
	b.WriteString(wantHead)
	for _, way := range []string{NameStandIn, NameDirect, NameREST} {
		ids := slices.Clone(w[way])
		slices.Sort(ids)
		if len(ids) > 0 {
			b.WriteByte('\n')
		}
		for _, id := range slices.Compact(ids) {
			b.WriteString(way + " " + id + "\n")
		}
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
