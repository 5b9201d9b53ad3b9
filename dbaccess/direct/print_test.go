package direct_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/direct"
)

// Nothing prints the DSN, however it is asked and wherever the config is.
func TestDSNIsNotPrinted(t *testing.T) {
	t.Parallel()
	dsns := []string{
		"postgres://u" + canary + ":p" + canary + "@h" + canary + "/d" + canary + "?application_name=a" + canary,
		"host=h" + canary + " user=u" + canary + " password='p" + canary + "' dbname=d" + canary + " application_name=a" + canary,
	}
	type exported struct {
		Config  direct.Config
		Pointer *direct.Config
		Any     any
		Backend *direct.Backend
	}
	type unexported struct{ backend *direct.Backend }
	for _, dsn := range dsns {
		cfg := direct.Config{DSN: dsn, SchemaCache: nil}
		b := open(t, cfg)
		values := map[string]any{
			"config": cfg, "pointer to config": &cfg, "backend": b,
			"exported": exported{cfg, &cfg, cfg, b}, "pointer to exported": &exported{cfg, &cfg, cfg, b},
			"unexported": unexported{b}, "pointer to unexported": &unexported{b},
			"slice": []direct.Config{cfg}, "map": map[string]direct.Config{"cfg": cfg}, "backends": []*direct.Backend{b},
		}
		for name, v := range values {
			for _, verb := range strings.Split("v +v #v s q x X d t c U e E f F g G b o O T +s #q 10v", " ") {
				if got := fmt.Sprintf("%"+verb, v); leaks(got) {
					t.Errorf("%s: %%%s prints %s", name, verb, got)
				}
			}
			if got := fmt.Sprint(v); leaks(got) {
				t.Errorf("%s: Sprint prints %s", name, got)
			}
			js, err := json.Marshal(v)
			if err != nil {
				t.Errorf("%s: json: %v", name, err)
			}
			var log bytes.Buffer
			for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
				slog.New(h).With("with", v).Info("made", "value", v, slog.Group("in", "value", v))
			}
			if leaks(string(js)) || leaks(log.String()) {
				t.Errorf("%s: json or slog prints %s%s", name, js, log.String())
			}
		}
	}
	// A pointer to a config in an unexported field is an address to the verbs that
	// suit any value.
	cfg := direct.Config{DSN: dsns[0]}
	hidden := struct{ config *direct.Config }{&cfg}
	if got := fmt.Sprintf("%v %+v %#v", hidden, hidden, hidden); leaks(got) {
		t.Errorf("a pointer in an unexported field prints %s", got)
	}
}

// leaks says whether a text holds the canary, as it is or in hexadecimal.
func leaks(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary))
}
