package measure_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/latency"
	"github.com/twinpath/twinpath/example-app/internal/measure"
)

var began = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// result makes a result of rounds in which each mode takes about its time.
func result(shape measure.Shape, rounds int, cost func(mode string, round int) (ms, handshakes float64), modes ...string) *measure.Result {
	r := &measure.Result{Config: measure.Config{Shape: shape, Rounds: rounds, Concurrency: 1, Seed: 7, Baseline: modes[0], Gap: 11 * time.Second, RPS: 10}, Started: began, Took: time.Minute}
	for _, m := range modes {
		r.Config.Targets = append(r.Config.Targets, measure.Target{Name: m, URL: "http://127.0.0.1:1/" + m})
	}
	for round := -1; round < rounds; round++ {
		for i := range modes {
			position := i
			if round%2 != 0 {
				position = len(modes) - 1 - i
			}
			mode := modes[position]
			ms, handshakes := cost(mode, max(round, 0))
			s := measure.Sample{
				Mode: mode, Round: max(round, 0), WarmUp: round < 0, Position: i, Status: 200,
				Start: began.Add(time.Duration(round) * time.Second), Server: ms + handshakes + 0.5,
				Client: time.Duration((ms + handshakes + 1) * 1e6), Handshakes: handshakes,
				Layers: latency.LayerMillis{App: 0.25, Pool: handshakes, Network: ms * 0.75, Database: ms / 4},
				Cold:   round < 0 || handshakes > 0,
			}
			if handshakes > 0 {
				s.NewConnections = 1
			}
			r.Samples = append(r.Samples, s)
		}
	}
	return r
}

// costs are those of the demo's modes, more or less. Spaced requests find the naive pool empty.
func costs(shape measure.Shape) func(string, int) (float64, float64) {
	return func(mode string, round int) (ms, handshakes float64) {
		ms = 10 + float64(round%3)
		switch {
		case mode == "rest":
			ms *= 2
		case mode == "direct-per-request", mode == "direct-naive-pool" && shape == measure.Spaced:
			handshakes = 25
		}
		return ms, handshakes
	}
}

var demoModes = []string{"rest", "direct", "direct-per-request", "direct-naive-pool"}

func TestTextOfBoth(t *testing.T) {
	t.Parallel()
	burst := result(measure.Burst, 40, costs(measure.Burst), demoModes...)
	spaced := result(measure.Spaced, 8, costs(measure.Spaced), demoModes...)
	both := measure.NewBoth(burst.Report(), spaced.Report())
	var b strings.Builder
	if err := both.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantBoth, b.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s\n%s", diff, b.String())
	}
	for mode, want := range map[string]string{"rest": "never", "direct": "never", "direct-per-request": "in both", "direct-naive-pool": "in spaced"} {
		if c := both.Modes[mode]; c.Pays != want {
			t.Errorf("%s pays %s, want %s", mode, c.Pays, want)
		}
	}
	interrupted := measure.NewBoth(burst.Report(), nil)
	b.Reset()
	if err := interrupted.WriteText(&b); err != nil || !strings.HasPrefix(b.String(), "burst: 40 rounds") {
		t.Errorf("%v: %s", err, b.String())
	}
	if err := both.WriteText(closed{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("into a closed pipe: %v", err)
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestVerdicts(t *testing.T) {
	t.Parallel()
	same := func(string, int) (float64, float64) { return 10, 0 }
	for _, tt := range []struct {
		name   string
		result *measure.Result
		change func(r *measure.Result)
		want   string
	}{
		{"same", result(measure.Burst, 20, same, "a", "b"), nil,
			"no verdict: no difference is known: b takes 1.00 times what a takes (95 % interval 1.00 to 1.00, 20 rounds)"},
		{"next to nothing", result(measure.Burst, 20, func(mode string, _ int) (float64, float64) { return 10 + float64(len(mode))/50, 0 }, "a", "bb"), nil,
			"no verdict: no difference is known: bb takes 1.00 times what a takes (95 % interval 1.00 to 1.00, 20 rounds)"},
		{"few", result(measure.Burst, 5, same, "a", "b"), nil, "no verdict: not enough samples: 5 rounds of b and a, and it takes 6"},
		{"one mode", result(measure.Burst, 20, same, "a"), nil, "no verdict: there is nothing to compare with one mode"},
		{"stand-in", result(measure.Burst, 20, costs(measure.Burst), "rest", "direct"), func(r *measure.Result) {
			for i := range r.Samples {
				r.Samples[i].StandIn = r.Samples[i].Mode == "rest"
			}
		}, "no verdict: stand-in (it answered in PostgREST's place, and its speed says nothing about PostgREST's)"},
		{"order", result(measure.Burst, 40, same, "a", "b"), func(r *measure.Result) {
			for i := range r.Samples {
				if s := &r.Samples[i]; s.Position == 0 {
					s.Server *= 2
				}
			}
		}, "no verdict: the order decides: b takes 2.00 times what a takes when it is asked first, and 0.50 times when it is asked second"},
		{"connections", result(measure.Spaced, 8, costs(measure.Spaced), "direct", "direct-naive-pool"), nil,
			"direct-naive-pool takes 3.17 times what direct takes (95 % interval 3.00 to 3.38, 8 rounds); direct-naive-pool made new connections in 8 of 8 requests"},
		{"zero", result(measure.Burst, 8, same, "a", "b"), func(r *measure.Result) {
			for i := range r.Samples {
				r.Samples[i].Server = 0
			}
		}, "no verdict: 8 of 8 rounds of b and a failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.change != nil {
				tt.change(tt.result)
			}
			if got := tt.result.Report().Verdict; got != tt.want {
				t.Errorf("verdict %q\nwant    %q", got, tt.want)
			}
		})
	}
}

// TestStandInLeavesTheOthers checks that connections can be compared without PostgREST.
func TestStandInLeavesTheOthers(t *testing.T) {
	t.Parallel()
	r := result(measure.Spaced, 12, costs(measure.Spaced), demoModes...)
	for i := range r.Samples {
		r.Samples[i].StandIn = r.Samples[i].Mode == "rest"
	}
	rep := r.Report()
	for _, c := range rep.Comparisons {
		if withREST := c.Baseline == "rest"; c.Decided == withREST || strings.HasPrefix(c.Verdict, "no verdict: stand-in") != withREST {
			t.Errorf("%+v", c)
		}
	}
	if !rep.StandIn || len(rep.Comparisons) != 5 || !strings.HasPrefix(rep.Verdict, "no verdict: stand-in") {
		t.Errorf("%+v", rep)
	}
}

// TestJSON holds the members that scripts read.
func TestJSON(t *testing.T) {
	t.Parallel()
	r := result(measure.Burst, 400, costs(measure.Burst), demoModes...)
	b, err := json.Marshal(r.Report())
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{
		"version": 1.0, "shape": "burst", "rounds": 400.0, "rounds_done": 400.0, "gap_ms": nil, "rps": nil, "seed": 7.0, "stand_in": false, "baseline": "rest",
		"modes.direct.warm.p50_ms": 11.5, "modes.direct.warm.p99_ms": 12.5, "modes.direct.warm.n": 400.0, "modes.direct.warm.client_p50_ms": 12.0,
		"modes.direct.new_connections": 0.0, "modes.direct.cold.n": 0.0, "modes.direct.cold.p50_ms": nil, "modes.direct.errors": 0.0,
		"modes.direct-per-request.cold.p50_ms": 36.5, "modes.direct-per-request.new_connections": 400.0, "modes.direct-per-request.cold.handshakes_ms": 25.0,
		"modes.direct-per-request.cold.layers_ms.pool": 25.0, "modes.direct-per-request.warmup.n": 1.0,
		"comparisons.0.mode": "direct", "comparisons.0.decided": true, "comparisons.0.ratio.value": 0.5111,
		"notices": []any{},
	} {
		got := doc
		for step := range strings.SplitSeq(path, ".") {
			switch v := got.(type) {
			case map[string]any:
				var ok bool
				if got, ok = v[step]; !ok {
					t.Errorf("%s: there is no %s", path, step)
				}
			case []any:
				got = v[0]
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	few, err := json.Marshal(result(measure.Rate, 3, costs(measure.Rate), "a").Report())
	if err != nil || !strings.Contains(string(few), `"p50_ms":null`) || !strings.Contains(string(few), `"max_delay_ms":0`) {
		t.Errorf("%v: %s", err, few)
	}
}

func TestCSV(t *testing.T) {
	t.Parallel()
	r := result(measure.Spaced, 2, costs(measure.Spaced), "direct", "direct-naive-pool")
	r.Samples[2].Err = &measure.Failure{Kind: measure.Failed, Text: "X: y"}
	var b bytes.Buffer
	if err := measure.WriteCSV(&b, r, r); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll() // which wants them to have the same number of columns
	if err != nil || len(rows) != 1+2*len(r.Samples) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	at := func(row int, name string) string {
		for i, n := range rows[0] {
			if n == name {
				return rows[row][i]
			}
		}
		t.Errorf("there is no column %s", name)
		return ""
	}
	for _, tt := range []struct {
		row        int
		name, want string
	}{
		{1, "warmup", "true"}, {1, "shape", "spaced"}, {3, "error", "failed"}, {3, "server_ms", ""}, {3, "client_ms", "11"}, {4, "mode", "direct-naive-pool"},
		{4, "cold", "true"}, {4, "new_connections", "1"}, {4, "handshakes_ms", "25"}, {4, "pool_ms", "25"}, {4, "server_ms", "35.5"}, {4, "app_ms", "0.5"},
		{4, "started", "2026-11-30T12:00:00Z"}, {4, "idle_ms", ""}, {4, "position", "1"},
	} {
		if got := at(tt.row, tt.name); got != tt.want {
			t.Errorf("row %d, %s: %q, want %q", tt.row, tt.name, got, tt.want)
		}
	}
	if err := measure.WriteCSV(closed{}, r); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("into a closed pipe: %v", err)
	}
}

func TestSVG(t *testing.T) {
	t.Parallel()
	burst, spaced := result(measure.Burst, 5000, costs(measure.Burst), demoModes...), result(measure.Spaced, 8, costs(measure.Spaced), demoModes...)
	spaced.Samples[0].StandIn = true
	var b bytes.Buffer
	if err := measure.WriteSVG(&b, burst, spaced); err != nil {
		t.Fatal(err)
	}
	circles, texts := 0, map[string]int{}
	for dec := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch v := token.(type) {
		case xml.StartElement:
			if v.Name.Local == "circle" {
				circles++
			}
		case xml.CharData:
			texts[string(v)]++
		}
	}
	if circles < 4*(1000+8) || b.Len() > 4<<20 {
		t.Errorf("%d points in %d bytes", circles, b.Len())
	}
	for _, want := range []string{"burst: server time of each round, ms", "spaced: server time of each round, ms", "direct-naive-pool warm", "direct-naive-pool cold", spaced.Samples[0].Mode + " was answered by a stand-in for PostgREST"} {
		if texts[want] == 0 {
			t.Errorf("the chart does not say %q: %v", want, texts)
		}
	}
	nothing := result(measure.Burst, 1, costs(measure.Burst), "a")
	for i := range nothing.Samples {
		nothing.Samples[i].Err = &measure.Failure{Kind: measure.Busy, Text: "busy"}
	}
	if err := measure.WriteSVG(io.Discard, nothing); err != nil {
		t.Errorf("without any point: %v", err)
	}
}

func TestReasonsAreBounded(t *testing.T) {
	t.Parallel()
	r := result(measure.Burst, 100, costs(measure.Burst), "a")
	for i := range r.Samples {
		r.Samples[i].Err = &measure.Failure{Kind: measure.Failed, Text: fmt.Sprint(i)}
	}
	if m := r.Report().Modes["a"]; len(m.Failures) != 11 || m.Failures["other reasons"] != 90 || m.Errors != 100 {
		t.Errorf("%+v", m)
	}
}

func TestTextOfFailures(t *testing.T) {
	t.Parallel()
	r := result(measure.Rate, 10, costs(measure.Rate), "direct", "b")
	r.Config.Concurrency, r.Config.OneByOne, r.Interrupted, r.Config.Rounds = 8, true, true, 100
	for i := range r.Samples {
		s := &r.Samples[i]
		if s.Mode == "b" {
			s.Err = &measure.Failure{Kind: measure.NoAnswer, Text: fmt.Sprintf("reason %d", i%2)}
		}
		s.Reconnected = !s.WarmUp && s.Round == 3
		s.Delay = time.Duration(s.Round) * time.Millisecond
	}
	var b strings.Builder
	if err := r.Report().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantFailures, b.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s\n%s", diff, b.String())
	}
}
