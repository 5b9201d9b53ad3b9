package main_test

import (
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	main "github.com/twinpath/twinpath/example-app"
	"github.com/twinpath/twinpath/example-app/internal/stock"
)

const stockAlice = stock.Alice

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"sideways"}, `unknown command "sideways"`},
		{[]string{"--nonsense"}, "-nonsense"},
		{[]string{"serve", "extra"}, `"extra"`},
		{[]string{"serve", "--addr", "8080"}, "no host:port"},
		{[]string{"--addr", "127.0.0.1:99999"}, "no port between"},
		{[]string{"--addr", "127.0.0.1:-1"}, "no port between"},
		{[]string{"--addr", "127.0.0.1:no-such-service"}, "no port between"},
		{[]string{"--addr", "[::1:80"}, "no host:port"},
		{[]string{"--addr", "http://127.0.0.1:80"}, "no host:port"},
		{[]string{"--addr", "a b:80"}, "no host that can be"},
		{[]string{"--access-path", "percent:101"}, "rest, direct or percent:N"},
		{[]string{"--access-path", "sideways"}, "rest, direct or percent:N"},
		{[]string{"--rtt", "-1ms"}, "--rtt must be"},
		{[]string{"--rtt", "soon"}, "rtt"},
	} {
		err := (&main.Main{}).Run(t.Context(), tt.args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %q in it", tt.args, err, tt.want)
		}
		if code := main.ExitCode(err); code != 2 {
			t.Errorf("%v: exit status %d, want 2", tt.args, code)
		}
	}
	for _, args := range [][]string{{"help"}, {"serve", "-h"}, {"--help"}} {
		var out strings.Builder
		err := (&main.Main{}).Run(t.Context(), args, &out, io.Discard)
		if err != nil || !strings.Contains(out.String(), "--access-path") {
			t.Errorf("%v: %v, %q", args, err, out.String())
		}
	}
	if code := main.ExitCode(flag.ErrHelp); code != 1 {
		t.Errorf("exit status of another error %d, want 1", code)
	}
}

func TestBusyPort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = (&main.Main{}).Run(t.Context(), []string{"--addr", l.Addr().String()}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "in use by another program") {
		t.Fatalf("Run() = %v, want that the port is in use", err)
	}
	if code := main.ExitCode(err); code != 1 {
		t.Errorf("exit status %d, want 1", code)
	}
}

func TestBadEnvironment(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"SENTRY_DSN": "https://hunter2@", "DATABASE_URL": "postgres://u:hunter2@127.0.0.1:1/d"} {
		m := &main.Main{Getenv: func(n string) string {
			if n == name {
				return value
			}
			return ""
		}}
		err := m.Run(t.Context(), []string{"--addr", "127.0.0.1:0"}, io.Discard, io.Discard)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want an error without the password", name, err)
		}
	}
}

// TestSecondInstance runs another demo beside the shared one, on the next port, with a Sentry project,
// which Spotlight does not take the place of, and interrupts it while it has requests.
func TestSecondInstance(t *testing.T) {
	t.Parallel()
	envelopes := make(chan string, 1000)
	relay := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err == nil {
			envelopes <- string(b)
		}
	}))
	defer relay.Close()
	unasked := newSidecar()
	defer unasked.server.Close()
	second, err := startInstance(unasked.address, "http://key@"+strings.TrimPrefix(relay.URL, "http://")+"/1", "serve", "--access-path", "direct", "--rtt", "2ms")
	if err != nil {
		t.Fatal(err)
	}
	if second.url == site.url {
		t.Fatalf("both run on %s", site.url)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	fetch := func(path string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, second.url+path, nil)
		if err != nil {
			return nil, err
		}
		return client.Do(req)
	}
	resp, err := fetch("/api/market/pulse")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("X-Access-Path") != "direct" || resp.Header.Get("X-Access-Reason") != "fixed" {
		t.Errorf("status %d, path %q, reason %q", resp.StatusCode, resp.Header.Get("X-Access-Path"), resp.Header.Get("X-Access-Reason"))
	}
	done := make(chan struct{})
	go func() { // it ends when the demo does
		defer close(done)
		for {
			resp, err := fetch("/api/market/pulse?path=rest")
			if err != nil {
				return
			}
			_ = resp.Body.Close()
		}
	}()
	if err := second.stop(); err != nil {
		t.Errorf("Run() = %v", err)
	}
	<-done
	if sent := <-envelopes; !strings.Contains(sent, `"GET /api/market/pulse"`) || !strings.Contains(sent, "network+pooler") {
		t.Errorf("sent to SENTRY_DSN: %.500s", sent)
	}
	if sent := unasked.sent.String(); sent != "" {
		t.Errorf("sent to Spotlight: %.500s", sent)
	}
	if out := second.output.String(); !strings.Contains(out, "2ms added to each round trip") || !strings.Contains(out, "stopped") {
		t.Errorf("its output:\n%s", out)
	}
	if a := get(t, "/healthz"); a.status != http.StatusOK {
		t.Errorf("the first one answers %d afterwards", a.status)
	}
}
