package measure

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twinpath/twinpath/dbaccess/latency"
)

// WriteText writes the report as tables for people.
func (rep *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	rep.head(&b)
	rep.times(&b)
	rep.layers(&b)
	rep.compared(&b)
	rep.notes(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (rep *Report) head(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %d rounds", rep.Shape, rep.RoundsDone)
	if rep.RoundsDone != rep.Rounds {
		fmt.Fprintf(b, " of %d", rep.Rounds)
	}
	if rep.Interrupted {
		b.WriteString(", interrupted")
	}
	if rep.Gap != nil {
		fmt.Fprintf(b, ", a pause of %s before each", millis(*rep.Gap))
	}
	if rep.RPS != nil {
		fmt.Fprintf(b, ", %g a second, begun up to %s late", *rep.RPS, millis(*rep.MaxDelay))
	}
	if rep.Concurrency > 1 {
		fmt.Fprintf(b, ", %d at once", rep.Concurrency)
	}
	how := "the modes of a round at the same time"
	if rep.OneByOne {
		how = "the modes of a round one after the other"
	}
	fmt.Fprintf(b, "; %s, in random order (seed %d)\n\n", how, rep.Seed)
}

func millis(v float64) string {
	return time.Duration(v * float64(time.Millisecond)).Round(time.Millisecond / 10).String()
}

// each calls do for each mode's series that has samples, and for a mode without any once with nil.
func (rep *Report) each(do func(name, temperature string, m *ModeReport, s *Series)) {
	for _, name := range rep.order {
		m := rep.Modes[name]
		if m.N == 0 {
			do(name, "", m, nil)
		}
		if m.Warm.N > 0 {
			do(name, "warm", m, m.Warm)
		}
		if m.Cold.N > 0 {
			do(name, "cold", m, m.Cold)
		}
	}
}

func (rep *Report) times(b *strings.Builder) {
	client := "client p50"
	if rep.Shape == Rate {
		client = "due to end p50" // from the moment at which the request was due
	}
	t := table{{"server time, ms", "", "n", "min", "p50", "p90", "p99", "max", client, "p99", "new conns", "errors"}}
	last := ""
	rep.each(func(name, temperature string, m *ModeReport, s *Series) {
		row := []string{name, temperature}
		if s == nil {
			row = append(row, "0", "", "", "", "", "", "", "")
		} else {
			row = append(row, fmt.Sprint(s.N), number(s.Min), number(s.P50), number(s.P90), number(s.P99), number(s.Max), number(s.ClientP50), number(s.ClientP99))
		}
		if name != last { // of both temperatures
			row = append(row, fmt.Sprint(m.NewConnections), fmt.Sprint(m.Errors))
		} else {
			row[0] = ""
		}
		last = name
		t = append(t, row)
	})
	t.write(b, 2)
}

func (rep *Report) layers(b *strings.Builder) {
	t := table{{"where it went, mean ms", "", "client", "app", "pool", "network+pooler", "postgrest", "database", "of it handshakes"}}
	last := ""
	rep.each(func(name, temperature string, _ *ModeReport, s *Series) {
		if s == nil {
			return
		}
		if name == last {
			name = ""
		} else {
			last = name
		}
		l := s.Layers
		t = append(t, []string{name, temperature, one(l.Client), one(l.App), one(l.Pool), one(l.Network), one(l.PostgREST), one(l.Database), number(s.Handshakes)})
	})
	if len(t) > 1 {
		b.WriteByte('\n')
		t.write(b, 2)
	}
}

func (rep *Report) compared(b *strings.Builder) {
	if len(rep.Comparisons) > 0 {
		t := table{{"per round, server time", "against", "ratio", fmt.Sprintf("%.0f %% interval", 100*latency.Confidence), "rounds"}}
		for _, c := range rep.Comparisons {
			row := []string{c.Mode, c.Baseline, "-", "-", fmt.Sprint(c.Rounds)}
			if c.Ratio != nil {
				row[2], row[3] = short(c.Ratio.Value), short(c.Ratio.Low)+" to "+short(c.Ratio.High)
			}
			t = append(t, row)
		}
		b.WriteByte('\n')
		t.write(b, 2)
	}
	verdict := rep.Verdict
	if !strings.HasPrefix(verdict, noVerdict) {
		verdict = "verdict: " + verdict
	}
	fmt.Fprintf(b, "\n%s.\n", verdict)
	for _, c := range rep.Comparisons {
		if c.Decided && c.Verdict != rep.Verdict {
			fmt.Fprintf(b, "  %s.\n", c.Verdict)
		}
	}
}

func (rep *Report) notes(b *strings.Builder) {
	for _, name := range rep.order {
		m := rep.Modes[name]
		for _, text := range slices.Sorted(maps.Keys(m.Failures)) {
			fmt.Fprintf(b, "Failed: %s, %d times: %s\n", name, m.Failures[text], text)
		}
		if m.Reconnects > 0 {
			fmt.Fprintf(b, "Note: %d of %d requests of %s needed a new connection to the app, which it, or a proxy, had closed. That time is in no figure.\n",
				m.Reconnects, m.N+m.Errors, name)
		}
	}
	for _, n := range rep.Notices {
		fmt.Fprintf(b, "Note: %s\n", n)
	}
	short, untold := false, ""
	rep.each(func(name, _ string, _ *ModeReport, s *Series) {
		short = short || s != nil && s.P99 == nil
		if s != nil && s.Layers.PostgREST > 0 && s.Layers.Database == 0 && name != untold {
			untold = name
			fmt.Fprintf(b, "Note: PostgREST gives %s no account of its time (server-timing-enabled is off, or it is older than 14.2): "+
				"postgrest is all between request and answer, the network and the database included.\n", name)
		}
	})
	if short {
		fmt.Fprintf(b, "Note: - means that there are not enough samples: p50 takes %d, p90 %d, p99 %d.\n",
			latency.MinSamples(0.5), latency.MinSamples(0.9), latency.MinSamples(0.99))
	}
}

func number(v *float64) string {
	if v == nil {
		return "-"
	}
	return one(*v)
}

// one is a time in milliseconds with the digits that can matter.
func one(v float64) string {
	if s := fmt.Sprintf("%.1f", v); s != "-0.0" {
		return s
	}
	return "0.0"
}

// table is rows of cells, the head first.
type table [][]string

// write aligns the first columns, as many as left, to the left and the others to the right.
func (t table) write(b *strings.Builder, left int) {
	var width []int
	for _, row := range t {
		for i, cell := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i > 0 {
				line += "  "
			}
			if i < left {
				line += cell + pad
			} else {
				line += pad + cell
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
