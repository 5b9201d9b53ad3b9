package wireproxy_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/internal/wireproxy"
)

// answering serves one answer to each connection that says something, and closes it.
func answering(t *testing.T, answer string) *wireproxy.Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := c.Read(make([]byte, 1)); err == nil {
				_, _ = io.WriteString(c, answer)
			}
			_ = c.Close()
		}
	}()
	p, err := wireproxy.Start(wireproxy.Config{Target: l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
		_ = l.Close()
		<-done
	})
	return p
}

func TestHarm(t *testing.T) {
	t.Parallel()
	const answer = "abcdefgh"
	p := answering(t, answer)
	ask := func() (string, error) {
		c, err := net.Dial("tcp", p.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "?"); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(c)
		return string(got), err
	}
	for _, tt := range []struct {
		name  string
		harm  wireproxy.Harm
		want  string
		reset bool
	}{
		{"none", wireproxy.Harm{}, answer, false},
		{"abort", wireproxy.Harm{Kind: wireproxy.Abort, After: 3}, "", true},
		{"truncate", wireproxy.Harm{Kind: wireproxy.Truncate, After: 3}, "abc", false},
		{"truncate all", wireproxy.Harm{Kind: wireproxy.Truncate}, "", false},
		{"garble", wireproxy.Harm{Kind: wireproxy.Garble, After: 6}, "abcdef" + string([]byte{'g' ^ 0x55, 'h' ^ 0x55}), false},
		{"drip", wireproxy.Harm{Kind: wireproxy.Drip}, answer, false},
		{"later than the answer", wireproxy.Harm{Kind: wireproxy.Abort, After: 99}, answer, false},
	} {
		p.Harm(tt.harm)
		for range 2 { // each connection anew
			got, err := ask()
			if reset := errors.Is(err, syscall.ECONNRESET); reset != tt.reset || err != nil && !reset {
				t.Errorf("%s: error %v, want a reset: %t", tt.name, err, tt.reset)
			}
			if tt.reset {
				if !strings.HasPrefix("abc", got) { // what a reset leaves of them is the system's affair
					t.Errorf("%s: %q came", tt.name, got)
				}
			} else if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
		}
	}
	p.Harm(wireproxy.Harm{Kind: wireproxy.Truncate, OpenOnly: true})
	if got, err := ask(); got != answer || err != nil {
		t.Errorf("a connection that was opened later: %q, %v", got, err)
	}
	p.Heal()
	if got, err := ask(); got != answer || err != nil {
		t.Errorf("healed: %q, %v", got, err)
	}
}

// What drips ends with the harm, at once.
func TestHealEndsDripping(t *testing.T) {
	t.Parallel()
	answer := strings.Repeat("x", 1<<20) // hours of dripping
	p := answering(t, answer)
	p.Harm(wireproxy.Harm{Kind: wireproxy.Drip, After: 10})
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "?"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 12)); err != nil {
		t.Fatal(err)
	}
	p.Heal()
	if rest, err := io.ReadAll(c); err != nil || len(rest) != len(answer)-12 {
		t.Errorf("%d bytes, %v", len(rest), err)
	}
}
