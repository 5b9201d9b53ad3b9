package measure

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/twinpath/twinpath/dbaccess/latency"
)

// maxFailed is the share of rounds that may fail before those that didn't stop being typical.
const maxFailed = 0.1

// noVerdict begins each sentence that says why there is none.
const noVerdict = "no verdict: "

// Comparison is one mode against another, by the server's time in the rounds that both answered.
type Comparison struct {
	Baseline string `json:"baseline"`
	Mode     string `json:"mode"`
	Rounds   int    `json:"rounds"`
	Failed   int    `json:"failed_rounds"` // where one of them did not answer
	// Reconnected is how many rounds are left out because this side had to make a connection to one of
	// them. Where too few would be left, none is: the server's time does not begin before.
	Reconnected int `json:"reconnected_rounds_left_out"`
	// Ratio is the median over the rounds of the mode's time divided by the baseline's. It is null
	// without enough rounds.
	Ratio *Ratio `json:"ratio"`
	// WhenFirst and WhenSecond are the ratio in the rounds in which the mode was asked before the baseline and
	// after it.
	WhenFirst  *Ratio `json:"ratio_when_first"`
	WhenSecond *Ratio `json:"ratio_when_second"`
	Verdict    string `json:"verdict"`
	Decided    bool   `json:"decided"` // there is a verdict
}

// Ratio is an estimate and the interval that holds the true one in Confidence of all experiments.
type Ratio struct {
	Value      float64 `json:"value"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"`
}

// compare adds all comparisons and the verdict.
func (r *Result) compare(rep *Report) {
	base := []string{rep.Baseline}
	if rep.Baseline == modeREST && rep.Modes[modeDirect] != nil {
		base = append(base, modeDirect) // the ways of connecting, among themselves
	}
	rep.Comparisons = []Comparison{}
	for i, b := range base {
		for _, mode := range rep.order {
			if mode == b || i > 0 && mode == rep.Baseline {
				continue
			}
			rep.Comparisons = append(rep.Comparisons, r.pair(rep, b, mode))
		}
	}
	rep.Verdict = noVerdict + "there is nothing to compare with one mode"
	for i, c := range rep.Comparisons {
		if i == 0 || c.Baseline == modeREST && c.Mode == modeDirect {
			rep.Verdict = c.Verdict
		}
	}
}

func (r *Result) pair(rep *Report, baseline, mode string) Comparison {
	c := Comparison{Baseline: baseline, Mode: mode}
	type both struct{ a, b *Sample }
	rounds := map[int]*both{}
	standIn := false
	for i := range r.Samples {
		s := &r.Samples[i]
		if s.Mode != baseline && s.Mode != mode {
			continue
		}
		standIn = standIn || s.StandIn
		if s.WarmUp {
			continue
		}
		x := rounds[s.Round]
		if x == nil {
			x = &both{}
			rounds[s.Round] = x
		}
		if s.Mode == baseline {
			x.a = s
		} else {
			x.b = s
		}
	}
	var kept, others [2][]latency.Pair // the mode asked first, second
	for i := range r.Samples {         // in their order
		s := &r.Samples[i]
		x := rounds[s.Round]
		if s.WarmUp || s.Mode != baseline || x.a == nil || x.b == nil {
			continue
		}
		if !x.a.OK() || !x.b.OK() || x.a.Server <= 0 || x.b.Server <= 0 {
			c.Failed++
			continue
		}
		when := 0
		if x.a.Position < x.b.Position {
			when = 1
		}
		p := latency.Pair{A: x.a.Server, B: x.b.Server}
		if x.a.Reconnected || x.b.Reconnected {
			others[when] = append(others[when], p)
			c.Reconnected++
		} else {
			kept[when] = append(kept[when], p)
		}
	}
	if len(kept[0])+len(kept[1]) < latency.MinSamples(0.5) {
		c.Reconnected = 0
		for i := range kept {
			kept[i] = append(kept[i], others[i]...)
		}
	}
	all := append(append([]latency.Pair{}, kept[0]...), kept[1]...)
	c.Rounds = len(all)
	c.WhenFirst, _ = ratio(kept[0]) // for lack of rounds there may be none
	c.WhenSecond, _ = ratio(kept[1])
	var err error
	c.Ratio, err = ratio(all)
	c.Verdict, c.Decided = c.judge(rep, standIn, err)
	return c
}

func ratio(pairs []latency.Pair) (*Ratio, error) {
	e, err := latency.PairedRatio(pairs)
	if err != nil {
		return nil, err
	}
	return &Ratio{Value: significant(e.Value), Low: significant(e.Low), High: significant(e.High), Confidence: e.Confidence}, nil
}

// judge is the verdict, or why there is none.
func (c *Comparison) judge(rep *Report, standIn bool, err error) (string, bool) {
	total := c.Rounds + c.Failed + c.Reconnected
	switch {
	case standIn:
		return noVerdict + "stand-in (it answered in PostgREST's place, and its speed says nothing about PostgREST's)", false
	case total > 0 && float64(c.Failed) > maxFailed*float64(total):
		return fmt.Sprintf("%s%d of %d rounds of %s and %s failed", noVerdict, c.Failed, total, c.Mode, c.Baseline), false
	case errors.Is(err, latency.ErrNotEnough):
		return fmt.Sprintf("%snot enough samples: %d rounds of %s and %s, and it takes %d", noVerdict, c.Rounds, c.Mode, c.Baseline, latency.MinSamples(0.5)), false
	case err != nil:
		return noVerdict + "the times can't be compared", false
	}
	if f, s := c.WhenFirst, c.WhenSecond; f != nil && s != nil && (f.High < 1 && s.Low > 1 || f.Low > 1 && s.High < 1) {
		return fmt.Sprintf("%sthe order decides: %s takes %s times what %s takes when it is asked first, and %s times when it is asked second",
			noVerdict, c.Mode, short(f.Value), c.Baseline, short(s.Value)), false
	}
	text := fmt.Sprintf("%s takes %s times what %s takes (%.0f %% interval %s to %s, %d rounds)",
		c.Mode, short(c.Ratio.Value), c.Baseline, 100*c.Ratio.Confidence, short(c.Ratio.Low), short(c.Ratio.High), c.Rounds)
	if hundredths(c.Ratio.Low) <= 100 && hundredths(c.Ratio.High) >= 100 { // as it is shown
		return noVerdict + "no difference is known: " + text, false
	}
	var why []string
	for _, name := range []string{c.Mode, c.Baseline} {
		if m := rep.Modes[name]; m.Connecting > 0 {
			why = append(why, fmt.Sprintf("%s made new connections in %d of %d requests", name, m.Connecting, m.N))
		}
	}
	if len(why) > 0 {
		text += "; " + strings.Join(why, ", ")
	}
	return text, true
}

// short is a ratio for a sentence.
func short(v float64) string { return fmt.Sprintf("%.2f", hundredths(v)/100) }

func hundredths(v float64) float64 { return math.Round(100 * v) }

// significant rounds to four digits.
func significant(v float64) float64 {
	if v == 0 {
		return 0
	}
	f := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*f) / f
}

func ms(d time.Duration) float64 { return micro(float64(d) / float64(time.Millisecond)) }

// micro rounds milliseconds to microseconds.
func micro(v float64) float64 { return math.Round(v*1000) / 1000 }
