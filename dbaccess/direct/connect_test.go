package direct_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// A backend that is closed while calls are being cancelled does not take the pooler along:
// the sockets of cancel requests are left alone (PgBouncer 1.18 exits otherwise).
func TestCloseLeavesCancelRequestsAlone(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, sleeping)
	r := through(t, db.PoolerDSN, ownPooler(t), 5*time.Millisecond)
	for range 4 {
		b, err := direct.New(direct.Config{DSN: r.dsn})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, direct.DefaultMaxConns)
		for range cap(ended) {
			go func() {
				_, err := b.Do(t.Context(), call(query.From("sleeping"), anon))
				ended <- err
			}()
		}
		awaitSleepers(t, db, cap(ended))
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Close(over); !errors.Is(err, context.Canceled) {
			t.Errorf("close: %v, want the context's error", err)
		}
		if err := b.Close(over); !errors.Is(err, context.Canceled) && err != nil { // with cancel requests on their way
			t.Errorf("close again: %v", err)
		}
		for range cap(ended) {
			if err := <-ended; !errors.Is(err, dbaccess.ErrClosed) {
				t.Errorf("error %v, want ErrClosed", err)
			}
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		awaitSleepers(t, db, 0)
	}
	if got := body(t, open(t, direct.Config{DSN: r.dsn}), lists, anon); got != alicesPublic {
		t.Errorf("the pooler answers %s", got)
	}
}

// One name has an address of each family, and nobody answers at that of IPv6: the
// other is used at once.
func TestAddressesOfBothFamilies(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	_, port, err := net.SplitHostPort(db.Addr)
	if err != nil {
		t.Fatal(err)
	}
	// 100::/64 is for discarding: no route leads there, or nothing comes back.
	b := open(t, direct.Config{DSN: pgtest.At(t, db.DirectDSN, "db.example.com:"+port)})
	direct.SetResolver(b, fakeDNS(t, net.IPv4(127, 0, 0, 1), net.ParseIP("100::1")))
	if got := body(t, b, lists, anon); got != alicesPublic {
		t.Errorf("read %s", got)
	}
	only6 := open(t, direct.Config{DSN: pgtest.At(t, db.DirectDSN, "db.example.com:"+port), ConnectTimeout: time.Second})
	direct.SetResolver(only6, fakeDNS(t, nil, net.ParseIP("100::1")))
	_, err = only6.Do(t.Context(), call(lists, anon))
	e, ok := err.(*dbaccess.Error)
	if !ok || e.Kind != dbaccess.ErrUnavailable || !strings.Contains(e.Advice, "IPv6 address alone") && !strings.Contains(e.Advice, "within ConnectTimeout") {
		t.Errorf("error %v, want ErrUnavailable about the address", err)
	}
}

// ConnectTimeout bounds all addresses of all hosts together, and prefer is one way and
// not two.
func TestConnectBudget(t *testing.T) {
	t.Parallel()
	dials := make(chan struct{}, 100)
	mute := listen(t, func(conn net.Conn) error {
		dials <- struct{}{}
		_, _ = conn.Read(make([]byte, 1024))
		_, _ = conn.Read(make([]byte, 1024)) // until the other side gives up
		return nil
	})
	host := strings.Repeat(mute+",", 3) + mute
	const budget = 400 * time.Millisecond
	b := open(t, direct.Config{DSN: "postgres://app@" + host + "/db?sslmode=prefer", ConnectTimeout: budget, KeepWarm: -1})
	res, err := b.Do(t.Context(), call(lists, anon))
	if !errors.Is(err, dbaccess.ErrUnavailable) {
		t.Fatalf("error %v, want ErrUnavailable", err)
	}
	for _, p := range res.Phases {
		if p.Name == dbaccess.PhaseAcquire && p.Duration < budget {
			t.Errorf("given up after %v, want %v", p.Duration, budget)
		}
	}
	if n := len(dials); n != 1 {
		t.Errorf("%d dials within the budget of one that is not answered, want 1", n)
	}

	refusing := listen(t, func(conn net.Conn) error {
		dials <- struct{}{}
		return nil
	})
	for len(dials) > 0 {
		<-dials
	}
	b = open(t, direct.Config{DSN: "postgres://app@" + refusing + "/db?sslmode=prefer", KeepWarm: -1})
	if _, err := b.Do(t.Context(), call(lists, anon)); !errors.Is(err, dbaccess.ErrUnavailable) {
		t.Errorf("error %v, want ErrUnavailable", err)
	}
	if n := len(dials); n != 1 {
		t.Errorf("prefer dialled %d times, want once", n)
	}
}

// fakeDNS resolves every name to the addresses, nil for none of the family.
func fakeDNS(t *testing.T, v4, v6 net.IP) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		question := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(question)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(dnsAnswer(question[:n], v4, v6), from)
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// dnsAnswer answers a question with one record, or none. It does not look for what a
// resolver never sends.
// Source: RFC 1035, section 4
func dnsAnswer(question []byte, v4, v6 net.IP) []byte {
	end := 12 // behind the header is the name, in pieces with their lengths
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	var data net.IP
	switch kind := binary.BigEndian.Uint16(question[end+1:]); kind {
	case 1:
		data = v4.To4()
	case 28:
		data = v6.To16()
	}
	answer := append([]byte{question[0], question[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question[12:end+5]...)
	if data == nil {
		return answer
	}
	answer[7] = 1
	answer = append(answer, 0xc0, 12)                 // the same name
	answer = append(answer, question[end+1:end+5]...) // kind and class
	answer = append(answer, 0, 0, 0, 60, 0, byte(len(data)))
	return append(answer, data...)
}
