package main_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	main "github.com/twinpath/twinpath/example-app"
)

// runDoctor runs the sub-command with an environment, and returns what it prints and its
// exit status.
func runDoctor(t *testing.T, env map[string]string, args ...string) (stdout string, code int) {
	t.Helper()
	var out, errs strings.Builder
	m := &main.Main{Getenv: func(name string) string { return env[name] }}
	err := m.Run(t.Context(), append([]string{"doctor"}, args...), &out, &errs)
	return out.String(), main.ExitCode(err)
}

func TestDoctorFindsErrors(t *testing.T) {
	t.Parallel()
	env := map[string]string{
		"POOLER_URL":    "postgres://app:canary@127.0.0.1:1/db?timezone=UTC",
		"DATABASE_URL":  "host=/nowhere/at/all user=app password=canary",
		"POSTGREST_URL": "http://127.0.0.1:1", "PGRST_JWT_SECRET": secret, "POSTGREST_APIKEY": "canary",
	}
	text, code := runDoctor(t, env)
	if code != 2 {
		t.Errorf("exit status %d, want 2", code)
	}
	for _, want := range []string{"timezone is refused", "socket doesn't exist", "nobody listens at 127.0.0.1:1", "3 errors"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	text, code = runDoctor(t, env, "--json", "--instances", "3")
	var report struct {
		Verdict  string
		ExitCode int `json:"exit_code"`
		Findings []struct{ ID, Severity, What, Mend string }
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil || code != 2 || report.ExitCode != 2 || report.Verdict != "error" || len(report.Findings) == 0 {
		t.Errorf("exit status %d, error %v, report\n%s", code, err, text)
	}
	if strings.Contains(text, "canary") || strings.Contains(text, secret) {
		t.Errorf("a secret shows:\n%s", text)
	}
}

// Without an environment the demo's own servers are examined, and are well.
func TestDoctorOfOwnServers(t *testing.T) {
	t.Parallel()
	text, code := runDoctor(t, map[string]string{"PGRST_JWT_SECRET": secret}, "--timeout", "1m")
	if code != 0 {
		t.Errorf("exit status %d:\n%s", code, text)
	}
	for _, want := range []string{"in transaction mode", "can act as anon, authenticated, service_role", "schema twinpath_demo is exposed", "no others", "the same row", "0 errors and 0 warnings"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestDoctorCommandLine(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--nonsense"}, {"postgres://app:canary@h/db"}, {"--instances", "-1"}, {"--timeout", "1ms"}, {"--setup-sql", "--login", "anon"}, {"--json=perhaps"},
	} {
		if out, code := runDoctor(t, nil, args...); code != 2 || out != "" {
			t.Errorf("%q: exit status %d, output %q", args, code, out)
		}
	}
	if out, code := runDoctor(t, nil, "--help"); code != 0 || !strings.Contains(out, "Exit status") {
		t.Errorf("--help: exit status %d, output %q", code, out)
	}
	out, code := runDoctor(t, nil, "--setup-sql", "--login", "shop_login", "--roles", "anon,staff")
	if code != 0 || !strings.Contains(out, "shop_login") || !strings.Contains(out, "'staff'") {
		t.Errorf("--setup-sql: exit status %d, output\n%s", code, out)
	}
	err := (&main.Main{}).Run(context.Background(), []string{"doctor", "postgres://app:canary@h/db"}, &strings.Builder{}, &strings.Builder{})
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("error %v, want one without the argument", err)
	}
}
