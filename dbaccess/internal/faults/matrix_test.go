package faults_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

const (
	// patience is the deadline of calls that meet a fault.
	patience = 1500 * time.Millisecond
	// slack is how much later than that a call may end on a machine that is busy.
	slack = 10 * time.Second
	// recovery is how long a path may take to work again, and a resource to be given back.
	recovery = time.Minute
)

// fault is one column of the matrix.
type fault struct {
	name  string
	begin func(*wireproxy.Proxy) error
	end   func(*wireproxy.Proxy) error
	// kinds are what the calls that meet it fail with.
	kinds []error
	// strikes says that no read gets through.
	strikes bool
	// spares says that every read does.
	spares bool
}

var (
	unavailable = []error{dbaccess.ErrUnavailable}
	timeout     = []error{dbaccess.ErrTimeout}
	either      = []error{dbaccess.ErrUnavailable, dbaccess.ErrTimeout}
)

func harm(kind wireproxy.Kind, after int) func(*wireproxy.Proxy) error {
	return func(p *wireproxy.Proxy) error {
		p.Harm(wireproxy.Harm{Kind: kind, After: after})
		return nil
	}
}

func once(kind wireproxy.Kind, after int) func(*wireproxy.Proxy) error {
	return func(p *wireproxy.Proxy) error {
		p.Harm(wireproxy.Harm{Kind: kind, After: after, OpenOnly: true})
		return nil
	}
}

func heal(p *wireproxy.Proxy) error {
	p.Heal()
	p.ResetAll() // what was garbled or is half delivered is of no use to anybody
	return nil
}

func (tg *target) faults() []fault {
	list := []fault{
		{"refused", func(p *wireproxy.Proxy) error {
			err := p.Refuse(true)
			p.DropAll()
			return err
		}, func(p *wireproxy.Proxy) error { return p.Refuse(false) }, unavailable, true, false},
		{"hang", func(p *wireproxy.Proxy) error { p.Stall(true); return nil },
			func(p *wireproxy.Proxy) error { p.Stall(false); return nil }, timeout, true, false},
		{"slow drip", harm(wireproxy.Drip, 0), heal, timeout, true, false},
	}
	// In the header and in the body of HTTP's answer, in a message and between two of Postgres's.
	places := []int{0, 7, 150, 900}
	if tg.name == behindPooler { // which takes a second to look for a server again
		places = []int{150}
	}
	// The connections that are open end, new ones work: whatever is sent again arrives.
	for _, after := range places {
		at := fmt.Sprintf(" of open connections after %d bytes", after)
		list = append(list,
			fault{"RST" + at, once(wireproxy.Abort, after), heal, unavailable, false, after == 0 && tg.name != behindPooler},
			fault{"end" + at, once(wireproxy.Truncate, after), heal, unavailable, false, after == 0 && tg.name != behindPooler})
	}
	for _, after := range places {
		at := fmt.Sprintf(" after %d bytes", after)
		list = append(list,
			fault{"RST" + at, harm(wireproxy.Abort, after), heal, unavailable, true, false},
			fault{"truncated" + at, harm(wireproxy.Truncate, after), heal, unavailable, true, false},
			fault{"garbage" + at, harm(wireproxy.Garble, after), heal, either, true, false})
	}
	return list
}

// fact is a row of those that are there.
type fact struct {
	ID   int    `db:"id"`
	Body string `db:"body"`
}

var facts = query.From("facts").OrderBy(query.Asc("id"))

// journal has what was reported about each write.
type journal struct {
	mu    sync.Mutex
	marks map[string]error
	next  int
}

// tag is a new one.
func (j *journal) tag(of string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.next++
	return fmt.Sprintf("%s %d", of, j.next)
}

func (j *journal) note(tag string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.marks[tag] = err
}

// read reads all facts, and fails the test for wrong ones.
func (tg *target) read(t *testing.T, want []fact) error {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	start := time.Now()
	rows, err := dbaccess.All[fact](ctx, tg.db, facts)
	if d := time.Since(start); d > patience+slack {
		t.Errorf("a read took %v, with a deadline of %v", d, patience)
	}
	if err == nil {
		if diff := cmp.Diff(want, rows); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
	}
	return err
}

// write sets a mark that nobody else sets.
func (tg *target) write(t *testing.T, j *journal) error {
	tag := j.tag(t.Name())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	start := time.Now()
	n, err := dbaccess.Exec(ctx, tg.db, query.Insert("marks", map[string]any{"tag": tag}))
	if d := time.Since(start); d > patience+slack {
		t.Errorf("a write took %v, with a deadline of %v", d, patience)
	}
	if err == nil && n != 1 {
		t.Errorf("a write set %d marks", n)
	}
	j.note(tag, err)
	return err
}

// check looks at an error of a call that met a fault.
func check(t *testing.T, what string, err error, kinds []error) {
	t.Helper()
	e, ok := errors.AsType[*dbaccess.Error](err)
	if !ok {
		t.Errorf("%s: error is a %T: %v", what, err, err)
		return
	}
	if what == "read" && e.OutcomeUnknown {
		t.Errorf("a read's outcome is said to be unknown: %v", err)
	}
	for _, k := range kinds {
		if errors.Is(err, k) {
			return
		}
	}
	t.Errorf("%s: error %v (SQLSTATE %q, message %q), want one of %v", what, err, e.SQLState, e.Message(), kinds)
}

// TestMatrix breaks one thing at a time.
func TestMatrix(t *testing.T) { // not parallel: it counts file descriptors
	before := descriptors(t)
	var end closers
	defer end.close(t)
	targets := newTargets(t, &end)
	want := make([]fact, 0, 20)
	t.Run("faults", func(t *testing.T) {
		rows, err := dbaccess.All[fact](t.Context(), targets[3].db, facts)
		if err != nil || len(rows) != 20 || len(rows[19].Body) != 128 {
			t.Fatalf("%d facts, %v", len(rows), err)
		}
		want = append(want, rows...)
		for _, tg := range targets {
			t.Run(tg.name, func(t *testing.T) {
				t.Parallel()
				j := &journal{marks: map[string]error{}}
				for _, f := range tg.faults() {
					t.Run(f.name, func(t *testing.T) { tg.suffer(t, f, want, j) })
				}
				tg.audit(t, j)
			})
		}
	})
	for _, tg := range targets { // one after the other: two of them share the server
		t.Run(tg.name+"/restart", func(t *testing.T) { tg.restarted(t, want) })
	}
	end.close(t)
	await(t, "file descriptors are given back", func() error {
		if now := descriptors(t); now > before {
			return fmt.Errorf("%d before, %d now", before, now)
		}
		return nil
	})
}

// suffer lets reads and writes meet a fault, ends it, and waits for the path to work again.
func (tg *target) suffer(t *testing.T, f fault, want []fact, j *journal) {
	tg.recover(t, want, j)
	if err := f.begin(tg.proxy); err != nil {
		t.Fatal(err)
	}
	kinds := f.kinds
	if tg.name == behindPooler {
		kinds = either // the pooler makes its clients wait while it looks for a server
	}
	var calls sync.WaitGroup
	for range 2 {
		calls.Go(func() {
			switch err := tg.read(t, want); {
			case err != nil && f.spares:
				t.Errorf("a read met a connection that had died, and was not sent again: %v", err)
			case err != nil:
				check(t, "read", err, kinds)
			case f.strikes:
				t.Error("a read got through, so that nothing was broken")
			}
		})
		calls.Go(func() {
			if err := tg.write(t, j); err != nil {
				check(t, "write", err, kinds)
			}
		})
	}
	calls.Wait()
	if err := f.end(tg.proxy); err != nil {
		t.Fatal(err)
	}
	tg.recover(t, want, j)
}

// recover waits until reads and writes work.
func (tg *target) recover(t *testing.T, want []fact, j *journal) {
	t.Helper()
	await(t, tg.name+" works again", func() error {
		err := tg.read(t, want)
		if err == nil {
			err = tg.write(t, j)
		}
		if err != nil {
			tg.revive(t)
		}
		return err
	})
}

// revive starts the pooler again if it has exited.
func (tg *target) revive(t *testing.T) {
	if tg.pooler == nil {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	if _, err := tg.pooler.Show(ctx, "VERSION"); err == nil {
		return
	}
	t.Log("PgBouncer has exited, as 1.18 does when a cancel request breaks off: it is started again")
	if err := tg.pooler.Restart(ctx); err != nil {
		t.Fatal(err)
	}
}

// restarted goes on reading and writing while the server restarts.
func (tg *target) restarted(t *testing.T, want []fact) {
	j := &journal{marks: map[string]error{}}
	tg.recover(t, want, j)
	stop := make(chan struct{})
	var calls sync.WaitGroup
	loop := func(do func() error, what string) {
		calls.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := do(); err != nil {
					check(t, what, err, either)
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
	loop(func() error { return tg.read(t, want) }, "read")
	loop(func() error { return tg.write(t, j) }, "write")
	time.Sleep(100 * time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), recovery)
	defer cancel()
	if err := tg.restart(ctx); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	close(stop)
	calls.Wait()
	tg.recover(t, want, j)

	// With nothing under way, a restart is not noticed. But a pooler that a ping made look for its
	// server meanwhile refuses its clients until server_login_retry has passed.
	if err := tg.restart(ctx); err != nil {
		t.Fatal(err)
	}
	if tg.name == behindPooler {
		tg.recover(t, want, j)
	}
	for range 4 {
		if err := tg.read(t, want); err != nil {
			t.Errorf("a read after the restart: %v", err)
		}
	}
	tg.recover(t, want, j)
	tg.audit(t, j)
}

// audit compares what was reported about the writes with what is there. What is still on its
// way may come until the connections are gone.
func (tg *target) audit(t *testing.T, j *journal) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), tg.cluster.SuperDSN(database))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	await(t, "no insert is under way", func() error {
		var n int
		err := conn.QueryRow(t.Context(), "select count(*) from pg_stat_activity where state = 'active' and query ilike '%marks%' and pid <> pg_backend_pid()").Scan(&n)
		if err == nil && n > 0 {
			err = fmt.Errorf("%d are", n)
		}
		return err
	})
	rows, err := conn.Query(t.Context(), "select tag, count(*) from marks group by tag")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	var tag string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&tag, &n}, func() error { found[tag] = n; return nil }); err != nil {
		t.Fatal(err)
	}
	var done, failed, unknown, unknownDone int
	for tag, err := range j.marks {
		n := found[tag]
		switch {
		case err == nil:
			done++
			if n != 1 {
				t.Errorf("%s was reported done, and is there %d times", tag, n)
			}
		case errors.Is(err, dbaccess.ErrUnknownOutcome):
			unknown++
			unknownDone += n
			if n > 1 {
				t.Errorf("%s is there %d times", tag, n)
			}
		default:
			failed++
			if n != 0 {
				t.Errorf("%s was reported failed (%v), and is there %d times", tag, err, n)
			}
		}
	}
	t.Logf("writes: %d done, %d failed, %d of unknown outcome (%d of them done)", done, failed, unknown, unknownDone)
}

// await waits for something with generous patience.
func await(t *testing.T, what string, ok func() error) {
	t.Helper()
	deadline := time.Now().Add(recovery)
	for {
		err := ok()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v: %v", what, recovery, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// descriptors is how many files and sockets the process has open, 0 where the system doesn't say.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}
