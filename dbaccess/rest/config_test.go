package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/rest"
)

func TestNewReportsEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cfg  rest.Config
		want []string // parts of the error, none when there must be none
	}{
		"plain":         {cfg: rest.Config{URL: "http://localhost:3000"}},
		"slash at end":  {cfg: rest.Config{URL: "https://x.supabase.co/rest/v1/", APIKey: "k", ServerVersion: "v14.2.1"}},
		"no URL":        {cfg: rest.Config{}, want: []string{"Config.URL is empty"}},
		"not a URL":     {cfg: rest.Config{URL: "http://a b:%zz"}, want: []string{"Config.URL is not a URL"}},
		"scheme":        {cfg: rest.Config{URL: "ftp://h/"}, want: []string{"http://"}},
		"relative":      {cfg: rest.Config{URL: "/rest/v1"}, want: []string{"http://"}},
		"no host":       {cfg: rest.Config{URL: "http:///rest/v1"}, want: []string{"no host"}},
		"port alone":    {cfg: rest.Config{URL: "http://:3000"}, want: []string{"no host"}},
		"user":          {cfg: rest.Config{URL: "https://me:sesame@h/"}, want: []string{"has a user"}},
		"query":         {cfg: rest.Config{URL: "https://h/?apikey=sesame"}, want: []string{"has a query"}},
		"empty query":   {cfg: rest.Config{URL: "https://h/?"}, want: []string{"has a query"}},
		"fragment":      {cfg: rest.Config{URL: "https://h/#x"}, want: []string{"has a fragment"}},
		"key":           {cfg: rest.Config{URL: "https://h", APIKey: "sesame\n"}, want: []string{"Config.APIKey"}},
		"schema":        {cfg: rest.Config{URL: "https://h", Schema: "a\rb"}, want: []string{"Config.Schema"}},
		"body":          {cfg: rest.Config{URL: "https://h", MaxBodyBytes: -1}, want: []string{"Config.MaxBodyBytes"}},
		"role claim":    {cfg: rest.Config{URL: "https://h", RoleClaim: "app"}, want: []string{"Config.RoleClaim"}},
		"kind of key":   {cfg: rest.Config{URL: "https://h", APIKey: "sb_sesame_1"}, want: []string{"Config.APIKey"}},
		"timeout":       {cfg: rest.Config{URL: "https://h", Timeout: -1}, want: []string{"Config.Timeout"}},
		"version":       {cfg: rest.Config{URL: "https://h", ServerVersion: "latest"}, want: []string{"Config.ServerVersion"}},
		"version, half": {cfg: rest.Config{URL: "https://h", ServerVersion: "14.x"}, want: []string{"Config.ServerVersion"}},
		"all at once": {
			cfg: rest.Config{
				URL: "http://me:sesame@h?q#f", APIKey: "sesame\n", Schema: "\x00",
				MaxBodyBytes: -1, Timeout: -1, ServerVersion: "x",
			},
			want: []string{"a user", "a query", "a fragment", "APIKey", "Schema", "MaxBodyBytes", "Timeout", "ServerVersion"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := rest.New(tt.cfg)
			if len(tt.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error lacks %q: %v", part, err)
				}
			}
			if strings.Contains(err.Error(), "sesame") {
				t.Errorf("the error tells a secret: %v", err)
			}
		})
	}
}

// Nothing prints the key or the URL's password, however it is asked and wherever the
// config is.
func TestKeyIsNotPrinted(t *testing.T) {
	t.Parallel()
	cfg := rest.Config{URL: "http://localhost", APIKey: "sesame"}
	b, err := rest.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	bad := rest.Config{URL: "http://me:sesame@localhost?apikey=sesame"}
	type exported struct {
		Config  rest.Config
		Pointer *rest.Config
		Any     any
		Backend *rest.Backend
	}
	type unexported struct{ backend *rest.Backend }
	for name, v := range map[string]any{
		"config": cfg, "pointer to config": &cfg, "config that is wrong": bad, "backend": b,
		"exported": exported{cfg, &cfg, bad, b}, "pointer to exported": &exported{cfg, &cfg, bad, b},
		"unexported": unexported{b}, "pointer to unexported": &unexported{b},
		"slice": []rest.Config{cfg, bad}, "map": map[string]rest.Config{"cfg": cfg}, "backends": []*rest.Backend{b},
	} {
		all := fmt.Sprint(v)
		for _, verb := range strings.Split("v +v #v s q x X d t c U e E f F g G b o O T +s #q 10v", " ") {
			all += fmt.Sprintf("%"+verb, v)
		}
		js, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%s: json: %v", name, err)
		}
		var log bytes.Buffer
		for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
			slog.New(h).With("with", v).Info("made", "value", v, slog.Group("in", "value", v))
		}
		all = strings.ToLower(all + string(js) + log.String())
		if strings.Contains(all, "sesame") || strings.Contains(all, fmt.Sprintf("%x", "sesame")) {
			t.Errorf("%s: a secret is printed: %s", name, all)
		}
	}
}
