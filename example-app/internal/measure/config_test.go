package measure_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/example-app/internal/measure"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	good := measure.Config{Targets: []measure.Target{{Name: "rest", URL: "http://127.0.0.1:1/rest"}, {Name: "b", URL: "https://example.com/b"}}}
	if err := good.Validate(); err != nil {
		t.Errorf("Validate() = %v", err)
	}
	for want, change := range map[string]func(*measure.Config){
		"--shape must be":                     func(c *measure.Config) { c.Shape = "wavy" },
		"--rounds must be":                    func(c *measure.Config) { c.Rounds = -1 },
		"--warmup must not":                   func(c *measure.Config) { c.WarmUp = -2 },
		"--concurrency must be":               func(c *measure.Config) { c.Concurrency = 101 },
		"rounds × modes must be":              func(c *measure.Config) { c.Rounds = math.MaxInt },
		"the warm-up included":                func(c *measure.Config) { c.WarmUp = math.MaxInt },
		"--gap must be":                       func(c *measure.Config) { c.Gap = -time.Second },
		"--gap must be between 0 and 24h0m0s": func(c *measure.Config) { c.Gap = 25 * time.Hour },
		"--rps must be":                       func(c *measure.Config) { c.RPS = math.NaN() },
		"--rps must be above 0":               func(c *measure.Config) { c.RPS = math.Inf(1) },
		"--timeout must be":                   func(c *measure.Config) { c.Timeout = -1 },
		"--baseline must be one":              func(c *measure.Config) { c.Baseline = "c" },
		"there are 0 modes":                   func(c *measure.Config) { c.Targets = nil },
		"there are 13 modes":                  func(c *measure.Config) { c.Targets = make([]measure.Target, 13) },
		"two modes are called rest":           func(c *measure.Config) { c.Targets[1].Name = "rest" },
		`"a b" is no name`:                    func(c *measure.Config) { c.Targets[0].Name = "a b" },
		"b: this is no URL":                   func(c *measure.Config) { c.Targets[1].URL = "http://\x7f" },
	} {
		cfg := good
		cfg.Targets = append([]measure.Target{}, good.Targets...)
		change(&cfg)
		err := cfg.Validate()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q in it", err, want)
		}
		if _, err := measure.Run(t.Context(), cfg); err == nil {
			t.Errorf("%s: Run takes it", want)
		}
	}
}

func TestTargets(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want []measure.Target
	}{
		{[]string{"http://h:1/x/rest", "http://h:1/x/direct?a=b#c"}, []measure.Target{{Name: "rest", URL: "http://h:1/x/rest"}, {Name: "direct", URL: "http://h:1/x/direct?a=b"}}},
		{[]string{"http://h:1/rest", "https://i/rest"}, []measure.Target{{Name: "h:1:rest", URL: "http://h:1/rest"}, {Name: "i:rest", URL: "https://i/rest"}}},
		{[]string{"old=http://h/rest", "http://i/?q=1"}, []measure.Target{{Name: "old", URL: "http://h/rest"}, {Name: "i", URL: "http://i/?q=1"}}},
	} {
		got, err := measure.ParseTargets(tt.args)
		if err != nil {
			t.Errorf("%v: %v", tt.args, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.args, diff)
		}
	}
	for base, want := range map[string]string{
		"http://h": "http://h/api/debug/latency/a", "http://h/": "http://h/api/debug/latency/a", "https://h/debug/": "https://h/debug/latency/a",
	} {
		got, err := measure.TargetsBelow(base, []string{"a"})
		if err != nil || len(got) != 1 || got[0].URL != want {
			t.Errorf("%s: %v, %v", base, got, err)
		}
	}
	for _, bad := range []string{"", "h", "127.0.0.1:80", "ftp://h/", "http://", "http://:80", "http://u:canary8315@h/", "http://h:canary8315/", "a=", "=http://h:80:80/x", "//h/x"} {
		for _, parse := range []func() ([]measure.Target, error){
			func() ([]measure.Target, error) { return measure.ParseTargets([]string{bad}) },
			func() ([]measure.Target, error) { return measure.TargetsBelow(bad, []string{"a"}) },
		} {
			got, err := parse()
			if err == nil || strings.Contains(err.Error(), "canary8315") {
				t.Errorf("%q: %v, %v", bad, got, err)
			}
		}
	}
	if _, err := measure.TargetsBelow("http://h/?x", []string{"a"}); err == nil {
		t.Error("a base with a query is taken")
	}
}
