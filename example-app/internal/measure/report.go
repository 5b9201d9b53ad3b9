package measure

import (
	"slices"
	"time"

	"github.com/twinpath/twinpath/dbaccess/latency"
)

// Result is a measurement in all its samples.
type Result struct {
	Config      Config // with the defaults filled in
	Started     time.Time
	Took        time.Duration
	Samples     []Sample // the warm-up's first, then by round and by position in it
	Interrupted bool
	Notices     []string
}

// Report is a measurement in numbers, as --json prints it. All times are in milliseconds. The package's
// comment describes it.
type Report struct {
	Version     int       `json:"version"`
	Shape       Shape     `json:"shape"`
	Rounds      int       `json:"rounds"`       // asked for
	RoundsDone  int       `json:"rounds_done"`  // and counted
	Concurrency int       `json:"concurrency"`  // rounds at once
	Gap         *float64  `json:"gap_ms"`       // spaced only, else null
	RPS         *float64  `json:"rps"`          // rate only, else null
	MaxDelay    *float64  `json:"max_delay_ms"` // rate only: how far the latest request was behind its time
	OneByOne    bool      `json:"one_by_one"`
	Seed        uint64    `json:"seed"`
	Started     time.Time `json:"started"`
	Took        float64   `json:"took_ms"`
	Interrupted bool      `json:"interrupted"`
	StandIn     bool      `json:"stand_in"`
	Baseline    string    `json:"baseline"`

	Modes       map[string]*ModeReport `json:"modes"`
	Comparisons []Comparison           `json:"comparisons"` // with the baseline first, then with direct
	Verdict     string                 `json:"verdict"`     // of direct against rest, else of the first comparison
	Notices     []string               `json:"notices"`

	order []string
}

// ModeReport is one mode.
type ModeReport struct {
	N              int            `json:"n"`        // answers that count
	Errors         int            `json:"errors"`   // answers that don't
	Failures       map[string]int `json:"failures"` // what they were, ten reasons at most and "other reasons"
	NewConnections int            `json:"new_connections"`
	Connecting     int            `json:"requests_with_new_connections"`
	Reconnects     int            `json:"reconnects"` // of this side
	WarmUp         WarmUpReport   `json:"warmup"`
	Warm           *Series        `json:"warm"`
	Cold           *Series        `json:"cold"`
}

// WarmUpReport is what is not counted.
type WarmUpReport struct {
	N              int `json:"n"`
	Errors         int `json:"errors"`
	NewConnections int `json:"new_connections"`
}

// Series is the answers of one mode that were warm, or those that were cold. Quantiles are nil where there
// are not enough samples: see [latency.MinSamples].
type Series struct {
	N   int      `json:"n"`
	Min *float64 `json:"min_ms"`
	P50 *float64 `json:"p50_ms"`
	P90 *float64 `json:"p90_ms"`
	P99 *float64 `json:"p99_ms"`
	Max *float64 `json:"max_ms"`
	// Intervals are those of the quantiles above, by their names p50, p90 and p99.
	Intervals map[string][2]float64 `json:"intervals_ms"`

	// Client is the time on this side, without its own connecting. For rate it counts from the moment at which
	// the request was due.
	ClientMin *float64 `json:"client_min_ms"`
	ClientP50 *float64 `json:"client_p50_ms"`
	ClientP90 *float64 `json:"client_p90_ms"`
	ClientP99 *float64 `json:"client_p99_ms"`
	ClientMax *float64 `json:"client_max_ms"`

	// Handshakes and Layers are means.
	Handshakes *float64 `json:"handshakes_ms"`
	Layers     *Layers  `json:"layers_ms"`
}

// Layers is where the server's time went.
type Layers struct {
	Client float64 `json:"client"` // making and closing the database client, where that is done for each request
	latency.LayerMillis
}

func (l *Layers) sum() float64 {
	return l.Client + l.App + l.Pool + l.Network + l.PostgREST + l.Database
}

// layersOf divides a sample's server time. What the probe's queries did not take is the app's.
func layersOf(s *Sample) Layers {
	l := Layers{Client: s.ClientCreate + s.ClientClose, LayerMillis: s.Layers}
	l.App += s.Server - l.sum()
	return l
}

// How many reasons are told for the answers of a mode that don't count; a server may give any number.
const (
	maxReasons   = 10
	otherReasons = "other reasons"
)

// Report works out the numbers.
func (r *Result) Report() *Report {
	cfg := &r.Config
	rep := &Report{
		Version: 1, Shape: cfg.Shape, Rounds: cfg.Rounds, Concurrency: cfg.Concurrency, OneByOne: cfg.OneByOne, Seed: cfg.Seed,
		Started: r.Started.UTC(), Took: ms(r.Took), Interrupted: r.Interrupted, Baseline: cfg.Baseline,
		Modes: map[string]*ModeReport{}, Notices: append([]string{}, r.Notices...),
	}
	for _, t := range cfg.Targets {
		rep.order = append(rep.order, t.Name)
		rep.Modes[t.Name] = &ModeReport{Failures: map[string]int{}}
	}
	warm, cold := map[string][]*Sample{}, map[string][]*Sample{}
	rounds := map[int]bool{}
	var delay time.Duration
	for i := range r.Samples {
		s := &r.Samples[i]
		m := rep.Modes[s.Mode]
		rep.StandIn = rep.StandIn || s.StandIn
		if !s.WarmUp {
			rounds[s.Round] = true
			delay = max(delay, s.Delay)
		}
		if m.add(s) {
			if s.Cold {
				cold[s.Mode] = append(cold[s.Mode], s)
			} else {
				warm[s.Mode] = append(warm[s.Mode], s)
			}
		}
	}
	rep.RoundsDone = len(rounds)
	switch cfg.Shape {
	case Spaced:
		gap := ms(cfg.Gap)
		rep.Gap = &gap
	case Rate:
		rps, late := cfg.RPS, ms(delay)
		rep.RPS, rep.MaxDelay = &rps, &late
	}
	for name, m := range rep.Modes {
		m.Warm, m.Cold = newSeries(warm[name]), newSeries(cold[name])
	}
	r.compare(rep)
	return rep
}

// add counts a sample and says whether its times count.
func (m *ModeReport) add(s *Sample) bool {
	if s.WarmUp {
		m.WarmUp.N++
		m.WarmUp.NewConnections += s.NewConnections
		if !s.OK() {
			m.WarmUp.Errors++
		}
		return false
	}
	m.NewConnections += s.NewConnections
	if s.Reconnected {
		m.Reconnects++
	}
	if !s.OK() {
		m.Errors++
		text := s.Err.Text
		if _, known := m.Failures[text]; !known && len(m.Failures) >= maxReasons {
			text = otherReasons
		}
		m.Failures[text]++
		return false
	}
	m.N++
	if s.NewConnections > 0 {
		m.Connecting++
	}
	return true
}

func newSeries(samples []*Sample) *Series {
	s := &Series{N: len(samples), Intervals: map[string][2]float64{}}
	if s.N == 0 {
		return s
	}
	var server, client []float64
	var layers Layers
	handshakes, n := 0.0, float64(s.N)
	for _, x := range samples {
		server, client = append(server, x.Server), append(client, ms(x.Corrected()))
		l := layersOf(x)
		layers.Client += l.Client / n
		layers.App += l.App / n
		layers.Pool += l.Pool / n
		layers.Network += l.Network / n
		layers.PostgREST += l.PostgREST / n
		layers.Database += l.Database / n
		handshakes += x.Handshakes / n
	}
	layers.round()
	handshakes = micro(handshakes)
	s.Layers, s.Handshakes = &layers, &handshakes
	s.Min, s.Max = extremes(server)
	s.ClientMin, s.ClientMax = extremes(client)
	for _, q := range []struct {
		name           string
		q              float64
		server, client **float64
	}{{"p50", 0.5, &s.P50, &s.ClientP50}, {"p90", 0.9, &s.P90, &s.ClientP90}, {"p99", 0.99, &s.P99, &s.ClientP99}} {
		if e, err := latency.Quantile(server, q.q); err == nil { // else there are not enough
			v := micro(e.Value)
			*q.server, s.Intervals[q.name] = &v, [2]float64{micro(e.Low), micro(e.High)}
		}
		if e, err := latency.Quantile(client, q.q); err == nil {
			v := micro(e.Value)
			*q.client = &v
		}
	}
	return s
}

func (l *Layers) round() {
	for _, v := range []*float64{&l.Client, &l.App, &l.Pool, &l.Network, &l.PostgREST, &l.Database} {
		*v = micro(*v)
	}
}

func extremes(list []float64) (low, high *float64) {
	a, b := micro(slices.Min(list)), micro(slices.Max(list))
	return &a, &b
}
