package jwt

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

// Bounds of the pause after a failed request for keys, which doubles each time.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// remote has the keys of a server, and asks for them again when they are old or
// one is missing. There is never more than one request under way.
type remote struct {
	client     *http.Client
	address    *url.URL
	algorithms []string
	refresh    time.Duration
	grace      time.Duration
	pause      time.Duration
	timeout    time.Duration
	log        *slog.Logger

	life context.Context // ends at close
	end  context.CancelFunc
	work sync.WaitGroup // requests and the keeper

	mu       sync.Mutex
	keys     []key     // never changed, only replaced
	since    time.Time // of keys
	failures int       // in a row
	next     time.Time // earliest request after a failure
	why      string    // the last failure's reason
	told     []refusedKey
	flight   *flight
	closed   bool
	keeping  bool
}

// flight is a request for keys under way.
type flight struct {
	done chan struct{}
	err  error // once done is closed
}

func newRemote(cfg *JWKSConfig, address *url.URL) *remote {
	r := &remote{
		client: newKeyClient(cfg.Transport), address: address, algorithms: cfg.Algorithms,
		refresh: cfg.Refresh, grace: cfg.Grace, pause: cfg.UnknownKeyPause, timeout: cfg.Timeout, log: cfg.Logger,
	}
	r.life, r.end = context.WithCancel(context.Background())
	return r
}

// early is the age at which keys that are in use are asked for again, without
// anybody waiting.
func (r *remote) early() time.Duration { return r.refresh - r.refresh/5 }

// current returns keys that may be used now. It waits for a request only where
// there are none, or where they are too old and nobody knows yet that the server
// is out of order.
func (r *remote) current(ctx context.Context) ([]key, error) {
	r.mu.Lock()
	age := time.Since(r.since)
	keys, usable := r.keys, r.keys != nil && age < r.refresh+r.grace
	if usable && age < r.early() {
		r.mu.Unlock()
		return keys, nil
	}
	f := r.ask()
	wait := !usable || age >= r.refresh && r.failures == 0
	r.mu.Unlock()

	if wait && f != nil {
		select {
		case <-f.done:
		case <-ctx.Done():
			if !usable {
				return nil, &auth.UnavailableError{Reason: "the request ended before the keys came", Err: ctx.Err()}
			}
		}
	}
	return r.usable()
}

// usable returns the keys, unless they are too old.
func (r *remote) usable() ([]key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keys != nil && time.Since(r.since) < r.refresh+r.grace {
		return r.keys, nil
	}
	return nil, r.unavailable()
}

// newer returns keys that were asked for because a token names one that is not
// among the current ones. Keys younger than the pause are the newest there are.
func (r *remote) newer(ctx context.Context) ([]key, error) {
	r.mu.Lock()
	if r.keys != nil && time.Since(r.since) < r.pause {
		defer r.mu.Unlock()
		return r.keys, nil
	}
	f := r.ask()
	if f == nil {
		defer r.mu.Unlock()
		return nil, r.unavailable()
	}
	r.mu.Unlock()
	select {
	case <-f.done:
	case <-ctx.Done():
		return nil, &auth.UnavailableError{Reason: "the request ended before the keys came", Err: ctx.Err()}
	}
	if f.err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		return nil, r.unavailable()
	}
	return r.usable()
}

// unavailable is the error where keys can't be had. The lock is held.
func (r *remote) unavailable() error {
	e := &auth.UnavailableError{Reason: "there are no keys yet", RetryAfter: max(0, time.Until(r.next))}
	switch {
	case r.closed:
		e.Reason = "the verifier is closed"
	case r.why != "":
		e.Reason = "the key set's server " + r.why
	}
	return e
}

// ask returns the request under way, or starts one. It returns nil where it is too
// early after a failure, or too late. The lock is held.
func (r *remote) ask() *flight {
	if r.flight != nil || r.closed || time.Now().Before(r.next) {
		return r.flight
	}
	f := &flight{done: make(chan struct{})}
	r.flight = f
	// The request is nobody's in particular: the caller who came first may leave
	// while others wait.
	r.work.Go(func() {
		ctx, cancel := context.WithTimeout(r.life, r.timeout)
		defer cancel()
		keys, refused, err := r.fetch(ctx)
		r.land(f, keys, refused, err)
	})
	return f
}

func (r *remote) fetch(ctx context.Context) ([]key, []refusedKey, error) {
	b, err := fetchKeys(ctx, r.client, r.address)
	if err != nil {
		return nil, nil, err
	}
	keys, refused, err := parseKeySet(b, r.algorithms, false)
	if err != nil {
		return nil, refused, answered{err}
	}
	return keys, refused, nil
}

// answered is what is wrong with an answer.
type answered struct{ error }

func (a answered) Error() string { return "gave an answer that " + a.error.Error() }

// land takes in what a request brought. A failure leaves the keys as they are.
func (r *remote) land(f *flight, keys []key, refused []refusedKey, err error) {
	r.mu.Lock()
	r.flight, f.err = nil, err
	closed := r.closed
	first := r.failures == 0
	news := refused != nil && !slices.Equal(refused, r.told) // a set that stays as it is needs no word
	r.told = refused
	if err == nil {
		r.keys, r.since, r.failures, r.next, r.why = keys, time.Now(), 0, time.Time{}, ""
	} else {
		r.why = err.Error()
		r.next = time.Now().Add(min(lastRetry, firstRetry<<min(r.failures, 5)))
		r.failures++
	}
	r.mu.Unlock()
	close(f.done)

	switch {
	case closed:
	case err != nil && first: // once an outage
		r.log.Warn("twinpath: keys for bearer tokens can't be had", "reason", "the key set's server "+err.Error(), "retry", firstRetry)
	case err == nil && !first:
		r.log.Info("twinpath: keys for bearer tokens can be had again")
	}
	if !closed && news {
		for _, k := range refused {
			r.log.Warn("twinpath: a key for bearer tokens is not used", "reason", k.Error())
		}
	}
}

// keep asks for keys before they are old, until close.
func (r *remote) keep() {
	for {
		r.mu.Lock()
		due := max(time.Until(r.since.Add(r.early())), time.Until(r.next))
		f := r.flight
		if f == nil && due <= 0 {
			f = r.ask()
		}
		r.mu.Unlock()
		if f != nil {
			<-f.done // at the latest when life ends
		}
		timer := time.NewTimer(max(due, time.Millisecond))
		select {
		case <-r.life.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// start asks for keys now, waits for them, and has them kept fresh.
func (r *remote) start(ctx context.Context) error {
	r.mu.Lock()
	if r.closed {
		defer r.mu.Unlock()
		return r.unavailable()
	}
	if !r.keeping {
		r.keeping = true
		r.work.Go(r.keep)
	}
	r.mu.Unlock()
	_, err := r.current(ctx)
	return err
}

func (r *remote) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.end()
	r.work.Wait()
	r.client.CloseIdleConnections()
}
