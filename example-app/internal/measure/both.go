package measure

import (
	"fmt"
	"io"
	"strings"
)

// Both is two measurements that differ in their shape alone.
type Both struct {
	Version int     `json:"version"`
	Shape   string  `json:"shape"` // "both"
	Burst   *Report `json:"burst"`
	Spaced  *Report `json:"spaced"` // null when it was interrupted before
	// Modes has, for each mode, what spaced requests cost that those of a burst don't.
	Modes map[string]*Contrast `json:"modes"`
}

// Contrast is one mode in both shapes.
type Contrast struct {
	// Pays says in which shape requests had to make connections: "never", "in burst", "in spaced" or "in
	// both".
	Pays                 string   `json:"pays_for_connections"`
	BurstNewConnections  int      `json:"burst_new_connections"`
	SpacedNewConnections int      `json:"spaced_new_connections"`
	BurstP50             *float64 `json:"burst_p50_ms"` // of the temperature that most requests had, null when there are too few
	SpacedP50            *float64 `json:"spaced_p50_ms"`
	Ratio                *float64 `json:"spaced_to_burst_p50"`

	burst, spaced *ModeReport
}

// NewBoth puts two reports side by side.
func NewBoth(burst, spaced *Report) *Both {
	both := &Both{Version: 1, Shape: "both", Burst: burst, Spaced: spaced, Modes: map[string]*Contrast{}}
	if spaced == nil {
		return both
	}
	for _, name := range burst.order {
		b, s := burst.Modes[name], spaced.Modes[name]
		if s == nil {
			continue
		}
		c := &Contrast{
			Pays: "never", BurstNewConnections: b.NewConnections, SpacedNewConnections: s.NewConnections,
			BurstP50: b.typical().P50, SpacedP50: s.typical().P50, burst: b, spaced: s,
		}
		switch {
		case b.NewConnections > 0 && s.NewConnections > 0:
			c.Pays = "in both"
		case b.NewConnections > 0:
			c.Pays = "in burst"
		case s.NewConnections > 0:
			c.Pays = "in spaced"
		}
		if c.BurstP50 != nil && c.SpacedP50 != nil && *c.BurstP50 > 0 {
			v := significant(*c.SpacedP50 / *c.BurstP50)
			c.Ratio = &v
		}
		both.Modes[name] = c
	}
	return both
}

// typical is the series that most requests are in.
func (m *ModeReport) typical() *Series {
	if m.Cold.N > m.Warm.N {
		return m.Cold
	}
	return m.Warm
}

// WriteText writes both reports and what they have to do with each other.
func (both *Both) WriteText(w io.Writer) error {
	if err := both.Burst.WriteText(w); err != nil || both.Spaced == nil {
		return err
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	if err := both.Spaced.WriteText(w); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n"+both.Table())
	return err
}

// Table has both shapes side by side.
func (both *Both) Table() string {
	t := table{
		{"", "burst", "", "", "spaced", "", "", "", ""},
		{"server time, ms", "p50", "new conns in", "handshakes", "p50", "new conns in", "handshakes", "spaced/burst", "pays for connections"},
	}
	for _, name := range both.Burst.order {
		c := both.Modes[name]
		if c == nil {
			continue
		}
		row := append([]string{name}, cells(c.burst)...)
		row = append(row, cells(c.spaced)...)
		ratio := "-"
		if c.Ratio != nil {
			ratio = short(*c.Ratio)
		}
		t = append(t, append(row, ratio, c.Pays))
	}
	var b strings.Builder
	t.write(&b, 1)
	return b.String()
}

func cells(m *ModeReport) []string {
	s := m.typical()
	return []string{number(s.P50), fmt.Sprintf("%d of %d", m.Connecting, m.N), number(s.Handshakes)}
}
