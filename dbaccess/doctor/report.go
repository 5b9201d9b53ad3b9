package doctor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Severity is how bad a finding is.
type Severity int

// The severities, from good to bad.
const (
	OK      Severity = iota // examined, and as it should be
	Info                    // worth knowing
	Warning                 // works today, and will hurt
	Error                   // does not work, or must not stay
)

var severityNames = [...]string{"ok", "info", "warning", "error"}

// String is the severity's name in reports: ok, info, warning or error.
func (s Severity) String() string {
	if s < OK || s > Error {
		return fmt.Sprintf("severity %d", int(s))
	}
	return severityNames[s]
}

// MarshalText is the severity's name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a severity's name.
func (s *Severity) UnmarshalText(b []byte) error {
	i := slices.Index(severityNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("doctor: there is no severity %q", b)
	}
	*s = Severity(i)
	return nil
}

// Finding is one thing that was found out.
type Finding struct {
	// ID names the check, and stays the same from release to release: "direct.login".
	ID string `json:"id"`
	// Severity says how bad it is.
	Severity Severity `json:"severity"`
	// What was found.
	What string `json:"what"`
	// Why it matters; "" where that goes without saying.
	Why string `json:"why,omitempty"`
	// Mend says what to do; "" where there is nothing to do.
	Mend string `json:"mend,omitempty"`
	// Took is what the finding is about, or how long it took to find, 0 for no time.
	Took time.Duration `json:"-"`
}

// Report is all that was found, in the order of the checks.
type Report struct {
	Findings []Finding
	// Took is how long the examination took.
	Took time.Duration
}

// Worst is the severity of the worst finding, OK when there is none.
func (r Report) Worst() Severity {
	worst := OK
	for _, f := range r.Findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// Count returns how many findings have the severity.
func (r Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// ExitCode is 0 for nothing worse than Info, 1 for warnings, 2 for errors.
func (r Report) ExitCode() int { return max(0, int(r.Worst())-int(Info)) }

// Text is the report for people: a line for each finding, the bad ones with why and
// what to do, and a line that sums up.
func (r Report) Text() string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%-7s  %-18s  %s%s\n", f.Severity, f.ID, f.What, took(f.Took))
		if f.Why != "" {
			fmt.Fprintf(&b, "%29s%s\n", "", f.Why)
		}
		if f.Mend != "" {
			fmt.Fprintf(&b, "%29s→ %s\n", "", f.Mend)
		}
	}
	fmt.Fprintf(&b, "\n%s%s\n", r.Summary(), took(r.Took))
	return b.String()
}

// Summary says in half a sentence how many findings are bad.
func (r Report) Summary() string {
	return fmt.Sprintf("%s and %s in %s", count(r.Count(Error), "error"), count(r.Count(Warning), "warning"), count(len(r.Findings), "finding"))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func took(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return fmt.Sprintf(" (%.1f ms)", ms(d))
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// MarshalJSON is {"verdict", "exit_code", "ms", "findings": [{"id", "severity", "what",
// "why", "mend", "ms"}]}.
func (r Report) MarshalJSON() ([]byte, error) {
	type finding struct {
		Finding
		MS float64 `json:"ms,omitempty"`
	}
	findings := make([]finding, len(r.Findings))
	for i, f := range r.Findings {
		findings[i] = finding{f, ms(f.Took)}
	}
	return json.Marshal(struct {
		Verdict  Severity  `json:"verdict"`
		ExitCode int       `json:"exit_code"`
		MS       float64   `json:"ms"`
		Findings []finding `json:"findings"`
	}{r.Worst(), r.ExitCode(), ms(r.Took), findings})
}
