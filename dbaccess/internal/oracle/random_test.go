package oracle_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// Settings of TestRandomQueries, see the package's documentation.
const (
	envQueries = "ORACLE_QUERIES"
	envSeed    = "ORACLE_SEED"

	defaultQueries = 10_000
	workers        = 4
	maxFailures    = 3 // of a worker
)

// Both paths answer the same to queries that nobody has thought of.
func TestRandomQueries(t *testing.T) {
	t.Parallel()
	queries, first := setting(t, envQueries, defaultQueries), setting(t, envSeed, 0)
	n := workers
	if os.Getenv(envPostgREST) != "" {
		n = 1 // its writes would wait for each other
	}
	var done tally
	var all sync.WaitGroup
	for worker := range n {
		maxRows := int64(0)
		if worker%2 == 1 && os.Getenv(envPostgREST) == "" {
			maxRows = 7
		}
		r := newRig(t, maxRows)
		w := look(t, r.db)
		all.Go(func() {
			failures := 0
			for seed := first + uint64(worker); seed < first+queries && failures < maxFailures; seed += uint64(n) {
				q := newRandom(w, seed).question()
				d := r.compare(t.Context(), &q, &done)
				if d.kind == "" {
					continue
				}
				failures++
				small := q
				small.spec = shrink(q.spec, func(s *query.Spec) bool {
					return r.compare(t.Context(), &question{*s, q.caller, q.ordered}, nil).kind == d.kind
				})
				t.Errorf("seed %d, as %s: %s\nmade small: %s\n%s\n", seed, q.caller, d.text,
					r.compare(t.Context(), &small, nil).text, printed(&small.spec, w.catalog, maxRows))
			}
		})
	}
	all.Wait()
	t.Logf("%s", &done)
	if !t.Failed() {
		done.check(t, int64(queries))
	}
}

func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s must be a number", name)
	}
	return n
}

// compare asks both paths and says how their answers differ.
func (r *rig) compare(ctx context.Context, q *question, count *tally) difference {
	id := r.callers[q.caller]
	other := os.Getenv(envPostgREST) != ""
	want := ask(ctx, r.rest, &q.spec, id)
	got := ask(ctx, r.direct, &q.spec, id)
	if count != nil {
		count.add(want)
	}
	return differ(want, got, leniency{order: !q.ordered, words: other, nobody: q.spec.Head})
}

// tally is what became of queries: a property that holds of errors alone would say
// little.
type tally struct {
	answered, empty, failed, refused atomic.Int64

	mu    sync.Mutex
	codes map[string]int
}

func (c *tally) add(a answer) {
	switch {
	case a.refused:
		c.refused.Add(1)
	case a.failure != nil || a.broken != nil:
		c.failed.Add(1)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.codes == nil {
			c.codes = map[string]int{}
		}
		c.codes[short(a)]++
	case len(a.body) <= len("[]"):
		c.empty.Add(1)
	default:
		c.answered.Add(1)
	}
}

func (c *tally) String() string {
	return fmt.Sprintf("%d queries answered with rows, %d without, %d with an error, %d refused; errors: %v",
		c.answered.Load(), c.empty.Load(), c.failed.Load(), c.refused.Load(), c.codes)
}

func (c *tally) check(t *testing.T, queries int64) {
	t.Helper()
	if got := c.answered.Load(); got < queries/4 {
		t.Errorf("only %d of %d queries were answered with rows", got, queries)
	}
	if got := c.refused.Load(); got > queries/50 {
		t.Errorf("%d of %d queries were refused", got, queries)
	}
}
