package direct

import (
	"context"
	"crypto/tls"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// warmLooks is how often in Config.KeepWarm it is looked whether a connection
	// has been silent for almost so long.
	warmLooks = 4
	// warmTimeout bounds the wait for the answer to a ping in the background. It is
	// longer than that of a probe: a pooler that has no server connection to spare
	// answers late, and logging in once more would not help it.
	warmTimeout = 2 * time.Second
	// warmPatience is how long a call leaves it to a ping to give back the last
	// connection. Then it has one made, if there is a place.
	warmPatience = probeTimeout
	// warmMaxPause bounds the pause after attempts to connect that have failed, which
	// is doubled each time: poolers block clients that keep failing.
	warmMaxPause = 5 * time.Minute
)

// warmth keeps the connections of the backend's own pool in use while no call does:
// poolers, load balancers and NATs drop or forget those that are silent for long.
// The pool itself looks at their age alone. A nil *warmth does nothing.
type warmth struct {
	b     *Backend
	pool  *pgxpool.Pool
	every time.Duration
	age   time.Duration // at which connections are replaced ahead of the pool; 0 for never
	stop  context.CancelFunc
	done  chan struct{}

	dead    int           // connections found dead and not replaced yet
	pause   time.Duration // after the last attempt to connect, 0 where that succeeded
	resumes time.Time
	refused int64 // connections made before one was refused for good, else -1

	held atomic.Int32 // connections that are taken from the pool
	mu   sync.Mutex
	free chan struct{} // closed when they have been given back, nil when there are none
}

// keepWarm starts it for a new pool; nil where the config doesn't want it.
func (b *Backend) keepWarm(pool *pgxpool.Pool) *warmth {
	if b.cfg.KeepWarm <= 0 {
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &warmth{b: b, pool: pool, every: b.cfg.KeepWarm, stop: stop, done: make(chan struct{}), refused: -1}
	if life := pool.Config().MaxConnLifetime; life > 4*w.every {
		w.age = life - 2*w.every
	}
	go w.run(ctx)
	return w
}

// halt asks it to stop, and end waits until it has: a ping that is on its way is
// answered first.
func (w *warmth) halt() {
	if w != nil {
		w.stop()
	}
}

func (w *warmth) end() {
	if w != nil {
		w.stop()
		<-w.done
	}
}

func (w *warmth) run(ctx context.Context) {
	defer close(w.done)
	ticker := time.NewTicker(max(w.every/warmLooks, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.round(ctx)
		}
	}
}

// round pings the idle connections that have been silent for almost as long as
// they may, one at a time, and replaces those that are dead. There is always one.
func (w *warmth) round(ctx context.Context) {
	silent := w.every - w.every/warmLooks
	for ctx.Err() == nil && w.b.sockets.anySilent(time.Now(), silent) {
		conn, so := w.take(ctx, silent)
		if conn == nil {
			break
		}
		if !w.tend(ctx, conn, so) {
			w.dead++
		}
		conn.Release() // which gives up one that is closed
		w.hold(-1)
	}
	for ctx.Err() == nil && (w.dead > 0 || w.pool.Stat().TotalConns() == 0) {
		if !w.replace(ctx) {
			w.dead = 0
			return
		}
		if w.dead > 0 {
			w.dead--
			w.b.counts.replaced.Add(1)
		}
	}
}

// tend gives a connection something to do, or closes it for its age. It says whether
// the connection was alive.
func (w *warmth) tend(ctx context.Context, conn *pgxpool.Conn, so *socket) bool {
	if w.age > 0 && time.Since(so.of.times().ready) >= w.age {
		stat := w.pool.Stat()
		if stat.TotalConns() > 1 || stat.MaxConns() == 1 || w.replace(ctx) {
			ctx, cancel := context.WithTimeout(ctx, warmTimeout)
			defer cancel()
			_ = conn.Conn().Close(ctx)
			return true
		}
	}
	return ask(context.WithoutCancel(ctx), conn.Conn(), so, warmTimeout)
}

// take takes an idle connection that has been silent for so long, if there is one.
func (w *warmth) take(ctx context.Context, silent time.Duration) (*pgxpool.Conn, *socket) {
	idle := w.takeAll(ctx)
	now := time.Now()
	for i, conn := range idle {
		if so := socketOf(conn.Conn().PgConn().Conn()); so != nil && so.silent(now) >= silent {
			w.giveBack(slices.Delete(idle, i, i+1))
			return conn, so
		}
	}
	w.giveBack(idle)
	return nil, nil
}

// takeAll takes all idle connections; the dead ones are closed.
func (w *warmth) takeAll(ctx context.Context) []*pgxpool.Conn {
	w.hold(1) // so that calls wait from now on
	a := &acquisition{Context: ctx, keeper: true}
	idle := w.pool.AcquireAllIdle(a)
	w.dead += a.dead
	w.hold(len(idle) - 1)
	return idle
}

// giveBack leaves them in the order in which they were.
func (w *warmth) giveBack(idle []*pgxpool.Conn) {
	for _, conn := range slices.Backward(idle) {
		conn.Release()
	}
	w.hold(-len(idle))
}

// replace makes one more connection if there is a place for it, and says whether it
// could.
func (w *warmth) replace(ctx context.Context) bool {
	if time.Now().Before(w.resumes) || w.refused >= 0 && w.refused == w.b.counts.made.Load() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, w.b.cfg.ConnectTimeout+warmTimeout)
	defer cancel()
	// The pool makes one only where none is idle.
	idle := w.takeAll(ctx)
	if len(idle) >= int(w.pool.Stat().MaxConns()) {
		w.giveBack(idle)
		return false
	}
	began, made := make(chan struct{}), make(chan error, 1)
	a := &acquisition{Context: ctx, start: time.Now(), keeper: true, began: began}
	go func() {
		conn, err := w.pool.Acquire(a)
		if err == nil {
			conn.Release()
		}
		made <- err
	}()
	var err error
	ended := false
	timer := time.NewTimer(probeTimeout)
	select {
	case <-began:
	case err = <-made:
		ended = true
	case <-timer.C: // there was no place after all
	}
	timer.Stop()
	w.giveBack(idle)
	if !ended {
		err = <-made
	}
	w.refused = -1
	switch {
	case err == nil:
		w.pause = 0
		return true
	case ctx.Err() == nil && refusedForGood(err):
		w.refused = w.b.counts.made.Load()
	}
	w.pause = min(max(w.every, 2*w.pause), warmMaxPause)
	w.resumes = time.Now().Add(w.pause)
	return false
}

// refusedForGood says whether it makes no sense to try again by itself: poolers
// block clients that keep failing to log in. A call may try, and when it succeeds
// things have changed.
func refusedForGood(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "57P01", "57P03", "53300": // shutting down, starting up, full
			return false
		}
		return true
	}
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}

// hold notes that n more connections are taken from the pool.
func (w *warmth) hold(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held.Add(int32(n)) > 0 {
		if w.free == nil {
			w.free = make(chan struct{})
		}
	} else if w.free != nil {
		close(w.free)
		w.free = nil
	}
}

// holding says how many are.
func (w *warmth) holding() int {
	if w == nil {
		return 0
	}
	return int(w.held.Load())
}

// await has a call wait for a connection that is being pinged, where no other is
// free: that takes one round trip, and a new one several.
func (w *warmth) await(a *acquisition, pool *pgxpool.Pool) {
	if w.holding() == 0 {
		return
	}
	w.mu.Lock()
	free := w.free
	w.mu.Unlock()
	if free == nil || pool.Stat().IdleConns() > 0 {
		return
	}
	timer := time.NewTimer(warmPatience)
	defer timer.Stop()
	select {
	case <-free:
	case <-timer.C:
	case <-a.Done():
	}
}
