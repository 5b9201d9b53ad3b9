package wireproxy_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/twinpath/twinpath/internal/wireproxy"
)

// serve runs a server that handles each connection with handle, and returns its address.
func serve(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				handle(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// echo answers every line with itself.
func echo(conn net.Conn) {
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		if _, err := io.WriteString(conn, line); err != nil {
			return
		}
	}
}

func startProxy(t *testing.T, cfg wireproxy.Config) *wireproxy.Proxy {
	t.Helper()
	p, err := wireproxy.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("close the proxy: %v", err)
		}
	})
	return p
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// call sends a line and reads the answer.
func call(t *testing.T, conn net.Conn, line string) {
	t.Helper()
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, len(line)+1)
	if _, err := io.ReadFull(conn, buf); err != nil {
		t.Fatal(err)
	}
	if string(buf) != line+"\n" {
		t.Fatalf("got %q back", buf)
	}
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestDelay(t *testing.T) {
	t.Parallel()
	const delay = 30 * time.Millisecond
	p := startProxy(t, wireproxy.Config{Target: serve(t, echo), Delay: delay})

	// The first answer takes the round trip of the handshake too.
	begin := time.Now()
	conn := dial(t, p.Addr())
	call(t, conn, "hello")
	if took := time.Since(begin); took < 4*delay {
		t.Errorf("connecting and one call took %s, want at least %s", took, 4*delay)
	}
	begin = time.Now()
	call(t, conn, "hello again")
	if took := time.Since(begin); took < 2*delay {
		t.Errorf("a call took %s, want at least %s", took, 2*delay)
	}
	p.SetDelay(time.Second)
	p.SetDelay(delay / 2)
	begin = time.Now()
	call(t, conn, "faster")
	if took := time.Since(begin); took < delay || took >= time.Second {
		t.Errorf("with half the delay a call took %s, want at least %s and no trace of the delay set before", took, delay)
	}
}

// TestDelayDoesNotLimitThroughput sends far more chunks than would fit if each waited for the one
// before: 200 of them one after the other would take 200 delays.
func TestDelayDoesNotLimitThroughput(t *testing.T) {
	t.Parallel()
	const delay, lines = 200 * time.Millisecond, 200
	p := startProxy(t, wireproxy.Config{Target: serve(t, echo), Delay: delay})
	conn := dial(t, p.Addr())
	begin := time.Now()
	var wg sync.WaitGroup
	wg.Go(func() {
		for range lines {
			if _, err := io.WriteString(conn, "line\n"); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(time.Millisecond) // so that they are chunks of their own
		}
	})
	if _, err := io.CopyN(io.Discard, conn, lines*5); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if took := time.Since(begin); took > lines*delay/2 {
		t.Errorf("%d lines took %s: they waited for each other", lines, took)
	}
}

func TestRoundTripsAreChangesOfDirection(t *testing.T) {
	t.Parallel()
	// The server greets, answers "many" in three pieces, and ignores "quiet".
	addr := serve(t, func(conn net.Conn) {
		say := func(s string) { _, _ = io.WriteString(conn, s) }
		say("welcome\n")
		lines := bufio.NewReader(conn)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			switch strings.TrimSpace(line) {
			case "many":
				for range 3 {
					say("x\n")
					time.Sleep(5 * time.Millisecond)
				}
				say("end\n")
			case "quiet":
			default:
				say("end\n")
			}
		}
	})
	p := startProxy(t, wireproxy.Config{Target: addr})
	conn := dial(t, p.Addr())
	answers := bufio.NewReader(conn)
	until := func(want string) {
		t.Helper()
		for {
			line, err := answers.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if line == want+"\n" {
				return
			}
		}
	}
	send := func(s string) {
		t.Helper()
		if _, err := io.WriteString(conn, s); err != nil {
			t.Fatal(err)
		}
	}
	trips := func(what string, want int64) {
		t.Helper()
		if got := p.Stats().RoundTrips; got != want {
			t.Errorf("%s: %d round trips, want %d", what, got, want)
		}
		p.Reset()
	}

	until("welcome")
	trips("a greeting", 0)
	send("one\n")
	until("end")
	trips("question and answer", 1)
	send("many\n")
	until("end")
	trips("an answer in pieces", 1)
	for range 3 {
		send("one\n")
		until("end")
	}
	trips("three questions, one after the other", 3)
	send("quiet\n")
	time.Sleep(20 * time.Millisecond) // a question in two packets is still one question
	send("one\n")
	until("end")
	trips("a question in two pieces", 1)
	send("quiet\n")
	conn.Close()
	if err := p.AwaitOpen(within(t), 0); err != nil {
		t.Fatal(err)
	}
	trips("a goodbye", 0)
}

// TestPipeliningIsOneRoundTrip sends the second question before the first answer can have arrived:
// it can't depend on that answer, though the server answers in between.
func TestPipeliningIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	p := startProxy(t, wireproxy.Config{Target: serve(t, echo), Delay: 150 * time.Millisecond})
	conn := dial(t, p.Addr())
	call(t, conn, "warm")
	if err := p.Idle(within(t)); err != nil {
		t.Fatal(err)
	}
	p.Reset()
	for range 4 {
		if _, err := io.WriteString(conn, "q\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if _, err := io.CopyN(io.Discard, conn, 4*2); err != nil {
		t.Fatal(err)
	}
	if got := p.Stats().RoundTrips; got != 1 {
		t.Errorf("%d round trips, want 1", got)
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	p := startProxy(t, wireproxy.Config{Target: serve(t, echo)})
	first, second := dial(t, p.Addr()), dial(t, p.Addr())
	call(t, first, "abc")
	call(t, first, "abc")
	call(t, second, "defgh")
	if err := p.Idle(within(t)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wireproxy.Stats{Accepted: 2, Open: 2, RoundTrips: 3, BytesUp: 14, BytesDown: 14}, p.Stats()); diff != "" {
		t.Errorf("Stats() (-want +got):\n%s", diff)
	}
	first.Close()
	if err := p.AwaitOpen(within(t), 1); err != nil {
		t.Fatal(err)
	}
	ignore := cmpopts.IgnoreFields(wireproxy.ConnStats{}, "Opened", "ID")
	want := []wireproxy.ConnStats{
		{Closed: true, RoundTrips: 2, BytesUp: 8, BytesDown: 8},
		{RoundTrips: 1, BytesUp: 6, BytesDown: 6},
	}
	if diff := cmp.Diff(want, p.Conns(), ignore); diff != "" {
		t.Errorf("Conns() (-want +got):\n%s", diff)
	}
	p.Reset()
	if diff := cmp.Diff([]wireproxy.ConnStats{{}}, p.Conns(), ignore); diff != "" {
		t.Errorf("Conns() after Reset (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wireproxy.Stats{Open: 1}, p.Stats()); diff != "" {
		t.Errorf("Stats() after Reset (-want +got):\n%s", diff)
	}
}

func TestHalfCloseIsForwarded(t *testing.T) {
	t.Parallel()
	p := startProxy(t, wireproxy.Config{Delay: 5 * time.Millisecond, Target: serve(t, func(conn net.Conn) {
		all, err := io.ReadAll(conn) // ends with the client's half
		if err != nil {
			t.Error(err)
		}
		_, _ = conn.Write(all)
	})})
	conn := dial(t, p.Addr())
	if _, err := io.WriteString(conn, "all of it"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(conn)
	if err != nil || string(all) != "all of it" {
		t.Errorf("got %q, %v", all, err)
	}
}

func TestDropAllAndResetAll(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cut  func(*wireproxy.Proxy) int
		want error
	}{
		{"drop", (*wireproxy.Proxy).DropAll, io.EOF},
		{"reset", (*wireproxy.Proxy).ResetAll, syscall.ECONNRESET},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := startProxy(t, wireproxy.Config{Target: serve(t, echo)})
			conn := dial(t, p.Addr())
			call(t, conn, "hello")
			if n := tt.cut(p); n != 1 {
				t.Errorf("%d connections were cut, want 1", n)
			}
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, tt.want) {
				t.Errorf("reading from a cut connection: %v, want %v", err, tt.want)
			}
			if err := p.AwaitOpen(within(t), 0); err != nil {
				t.Fatal(err)
			}
			call(t, dial(t, p.Addr()), "new connections work")
		})
	}
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	p := startProxy(t, wireproxy.Config{Target: serve(t, echo)})
	conn := dial(t, p.Addr())
	call(t, conn, "before")
	for range 2 {
		if err := p.Refuse(true); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := net.Dial("tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		if err == nil {
			c.Close()
		}
		t.Errorf("dialing a refusing proxy: %v, want connection refused", err)
	}
	call(t, conn, "open connections go on")
	for range 2 {
		if err := p.Refuse(false); err != nil {
			t.Fatal(err)
		}
	}
	call(t, dial(t, p.Addr()), "after")
}

func TestStall(t *testing.T) {
	t.Parallel()
	p := startProxy(t, wireproxy.Config{Target: serve(t, echo)})
	conn := dial(t, p.Addr())
	call(t, conn, "before")
	p.Stall(true)
	if _, err := io.WriteString(conn, "lost?\n"); err != nil {
		t.Fatal(err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("an answer came through a stalled proxy")
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := p.Idle(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Idle with an unanswered question: %v", err)
	}
	p.Stall(false)
	if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, len("lost?\n"))
	if _, err := io.ReadFull(conn, buf); err != nil || string(buf) != "lost?\n" {
		t.Errorf("after the stall: %q, %v", buf, err)
	}
}

func TestTargetThatIsNotThere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	l.Close()
	p := startProxy(t, wireproxy.Config{Target: gone})
	conn, err := net.Dial("tcp", p.Addr())
	if err == nil { // the reset may even be faster than the dial
		defer conn.Close()
		_, err = conn.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("connecting to nowhere: %v, want a reset connection", err)
	}
}

// TestCloseEndsEverything closes a proxy in the worst of states; TestMain looks for what it leaks.
func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	p := startProxy(t, wireproxy.Config{Target: serve(t, echo), Delay: time.Hour})
	for range 3 {
		if _, err := io.WriteString(dial(t, p.Addr()), "this takes an hour\n"); err != nil {
			t.Fatal(err)
		}
	}
	p.Stall(true)
	for range 2 {
		if err := p.Close(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Refuse(false); err == nil {
		t.Error("a closed proxy listens again")
	}
	if c, err := net.Dial("tcp", p.Addr()); err == nil {
		c.Close()
		t.Error("a closed proxy accepts connections")
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	_, err := wireproxy.Start(wireproxy.Config{Target: "nowhere", Delay: -1, DialTimeout: -1})
	if err == nil {
		t.Fatal("Start succeeded")
	}
	for _, field := range []string{"Target", "Delay", "DialTimeout"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("the error lacks %s: %v", field, err)
		}
	}
	if _, err := wireproxy.Start(wireproxy.Config{Target: "127.0.0.1:1", Listen: "127.0.0.1:99999"}); err == nil {
		t.Error("Start on an impossible port succeeded")
	}
}
