package measure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const progressEvery = 2 * time.Second

// ErrNothing means that there is nothing to report: no probe answered as one.
var ErrNothing = errors.New("nothing could be measured")

// Run measures until all rounds are over or ctx ends; what it has by then is in the result, which says
// that it was interrupted. A round that was under way then is left out. The error is [ErrNothing] with
// the reason when no mode could be measured, or what Validate says.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	r := &runner{cfg: cfg}
	for _, t := range cfg.Targets {
		r.clients = append(r.clients, newClient(t, &cfg))
	}
	defer func() {
		for _, c := range r.clients {
			c.close()
		}
	}()
	started := time.Now()
	err := r.run(ctx)
	if err != nil {
		return nil, err
	}
	res := &Result{Config: r.cfg, Started: started, Took: time.Since(started), Samples: r.samples, Interrupted: ctx.Err() != nil, Notices: r.notices}
	slices.SortStableFunc(res.Samples, func(a, b Sample) int {
		switch {
		case a.WarmUp != b.WarmUp && a.WarmUp:
			return -1
		case a.WarmUp != b.WarmUp:
			return 1
		case a.Round != b.Round:
			return a.Round - b.Round
		}
		return a.Position - b.Position
	})
	if len(res.Samples) == 0 {
		return nil, fmt.Errorf("%w: it was interrupted before the first round was over", ErrNothing)
	}
	return res, nil
}

// runner is a measurement under way.
type runner struct {
	cfg     Config
	clients []*client
	notices []string

	mu      sync.Mutex
	samples []Sample
	rounds  int // finished ones that count
	failed  int // answers that don't
	told    time.Time
}

func (r *runner) run(ctx context.Context) error {
	first := true
	for i := 0; i < r.cfg.WarmUp && ctx.Err() == nil; i++ {
		if !first && r.cfg.Shape == Spaced && !pause(ctx, r.cfg.Gap) {
			return nil
		}
		r.together(ctx, i*r.cfg.Concurrency, r.cfg.Concurrency, true)
		if first {
			if err := r.check(ctx); err != nil {
				return err
			}
			first = false
		}
	}
	if first && r.cfg.Rounds > 0 && ctx.Err() == nil && r.cfg.Shape != Spaced { // no warm-up: the first round tells what is wrong
		r.together(ctx, 0, 1, false)
		if err := r.check(ctx); err != nil {
			return err
		}
		return r.shape(ctx, 1, true)
	}
	return r.shape(ctx, 0, !first)
}

// shape runs the rounds that count from one on.
func (r *runner) shape(ctx context.Context, from int, checked bool) error {
	switch r.cfg.Shape {
	case Spaced:
		for i := from; i < r.cfg.Rounds; i += r.cfg.Concurrency {
			r.say(true)
			if (checked || i > from) && !pause(ctx, r.cfg.Gap) {
				return nil
			}
			r.together(ctx, i, min(r.cfg.Concurrency, r.cfg.Rounds-i), false)
			if !checked && i == from {
				if err := r.check(ctx); err != nil {
					return err
				}
			}
		}
	case Rate:
		r.openLoop(ctx, from)
	default:
		r.lanes(ctx, from)
	}
	r.say(true)
	return nil
}

// together runs n rounds at once.
func (r *runner) together(ctx context.Context, from, n int, warmUp bool) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { r.round(ctx, from+i, warmUp, time.Time{}) })
	}
	wg.Wait()
}

// lanes runs rounds one after the other, in as many lanes as there may be.
func (r *runner) lanes(ctx context.Context, from int) {
	rounds := make(chan int)
	var wg sync.WaitGroup
	for range r.cfg.Concurrency {
		wg.Go(func() {
			for i := range rounds {
				r.round(ctx, i, false, time.Time{})
				r.say(false)
			}
		})
	}
	for i := from; i < r.cfg.Rounds && ctx.Err() == nil; i++ {
		select {
		case rounds <- i:
		case <-ctx.Done():
		}
	}
	close(rounds)
	wg.Wait()
}

// openLoop begins rounds when they are due. When all lanes are busy a round waits, and its time counts
// from the moment it was due.
func (r *runner) openLoop(ctx context.Context, from int) {
	lanes := make(chan struct{}, r.cfg.Concurrency)
	var wg sync.WaitGroup
	defer wg.Wait()
	begin := time.Now()
	for i := from; i < r.cfg.Rounds; i++ {
		due := begin.Add(time.Duration(float64(i-from) / r.cfg.RPS * float64(time.Second)))
		if !pause(ctx, time.Until(due)) {
			return
		}
		select {
		case lanes <- struct{}{}:
		case <-ctx.Done():
			return
		}
		wg.Go(func() {
			defer func() { <-lanes }()
			r.round(ctx, i, false, due)
			r.say(false)
		})
	}
}

// round asks every mode once, in random order. due is when it should begin, zero for now.
func (r *runner) round(ctx context.Context, round int, warmUp bool, due time.Time) {
	stream := uint64(round) << 1
	if warmUp {
		stream |= 1
	}
	order := rand.New(rand.NewPCG(r.cfg.Seed, stream)).Perm(len(r.clients))
	list := make([]Sample, len(order))
	var wg sync.WaitGroup
	for position, which := range order {
		s := &list[position]
		*s = Sample{Round: round, WarmUp: warmUp, Position: position, Intended: due}
		if due.IsZero() {
			s.Intended = time.Now()
		}
		if r.cfg.OneByOne {
			if position > 0 {
				s.Intended = time.Now() // only the first one of a round is due at a time
			}
			r.clients[which].ask(ctx, s)
			continue
		}
		wg.Go(func() { r.clients[which].ask(ctx, s) })
	}
	wg.Wait()
	if due.IsZero() {
		for i := range list { // a closed loop intends to begin when it does
			list[i].Intended, list[i].Delay = list[i].Start, 0
		}
	}
	if ctx.Err() != nil {
		return // the interrupt, not the probes, ended some of it
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples = append(r.samples, list...)
	if !warmUp {
		r.rounds++
	}
	for i := range list {
		if !list[i].OK() {
			r.failed++
		}
	}
}

// check looks at the first round: what is no probe then will be none later.
func (r *runner) check(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	bad := map[string]*Failure{} // by mode
	for i := range r.samples {
		if s := &r.samples[i]; !s.OK() {
			bad[s.Mode] = s.Err
		}
	}
	var errs []error
	gone := map[string]bool{}
	for _, t := range r.cfg.Targets {
		f := bad[t.Name]
		switch {
		case f == nil:
		case f.Kind == UnknownMode && !r.cfg.KeepUnknown:
			gone[t.Name] = true
		case f.Kind == NotAProbe || f.Kind == UnknownMode || len(bad) == len(r.cfg.Targets):
			errs = append(errs, fmt.Errorf("%s: %w", t.where(), f))
		}
	}
	if len(gone) == len(r.cfg.Targets) {
		errs = append(errs, bad[r.cfg.Targets[0].Name])
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w: %w", ErrNothing, errors.Join(errs...))
	}
	if len(gone) > 0 {
		r.leaveOut(gone)
	}
	return nil
}

// leaveOut goes on without some modes.
func (r *runner) leaveOut(gone map[string]bool) {
	for name := range gone {
		r.notices = append(r.notices, name+" is left out: the app has no such mode")
	}
	slices.Sort(r.notices)
	for _, n := range r.notices {
		_, _ = fmt.Fprintln(r.cfg.Progress, n) // a closed stderr is no reason to stop
	}
	r.cfg.Targets = slices.DeleteFunc(slices.Clone(r.cfg.Targets), func(t Target) bool { return gone[t.Name] })
	r.samples = slices.DeleteFunc(r.samples, func(s Sample) bool { return gone[s.Mode] })
	r.clients = slices.DeleteFunc(r.clients, func(c *client) bool {
		if gone[c.target.Name] {
			c.close()
		}
		return gone[c.target.Name]
	})
	r.failed = 0
	for i := range r.samples {
		if !r.samples[i].OK() {
			r.failed++
		}
	}
	if gone[r.cfg.Baseline] {
		r.cfg.Baseline = ""
		r.cfg.setBaseline()
	}
}

// say tells how far it is, not too often unless it must.
func (r *runner) say(must bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); must || now.Sub(r.told) > progressEvery {
		r.told = now
		_, _ = fmt.Fprintf(r.cfg.Progress, "%s: %d of %d rounds, %d answers failed\n", r.cfg.Shape, r.rounds, r.cfg.Rounds, r.failed)
	}
}

// pause says whether all of d has passed.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
