package latency_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
)

// canary is in everything that must not come out.
const canary = "canary-4711"

// backend answers as it is told to. Its phases are as those of direct, with times
// that tests can predict.
type backend struct {
	conn    dbaccess.ConnClass
	fail    error
	wait    chan struct{} // closed when Do may answer; nil answers at once
	onDo    func()
	mu      sync.Mutex
	asked   []string // queries' names
	roles   []string
	closed  atomic.Int32
	started atomic.Int32
}

var (
	_ dbaccess.Backend = (*backend)(nil)
	_ dbaccess.Starter = (*backend)(nil)
)

func (b *backend) Start(context.Context) error {
	b.started.Add(1)
	return nil
}

func (b *backend) Do(ctx context.Context, c *dbaccess.Call) (*dbaccess.Result, error) {
	b.mu.Lock()
	b.asked, b.roles = append(b.asked, c.Query.Name), append(b.roles, c.Identity.Role)
	b.mu.Unlock()
	if b.onDo != nil {
		b.onDo()
	}
	if b.wait != nil {
		select {
		case <-b.wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if b.fail != nil {
		return nil, b.fail
	}
	start := time.Now()
	phases := chain(start, dbaccess.PhasePrepare, 1, dbaccess.PhaseAcquire, 10, dbaccess.PhaseNetwork, 5, dbaccess.PhaseDatabase, 3, dbaccess.PhaseRows, 1)
	if b.conn == dbaccess.ConnNew {
		connect := chain(phases[1].Start, dbaccess.PhaseConnect, 10)
		connect[0].Children = chain(phases[1].Start, dbaccess.PhaseTCP, 4, dbaccess.PhaseStartup, 6)
		phases[1].Children = connect
	}
	return &dbaccess.Result{Body: []byte(`[{"secret":"` + canary + `"}]`), Rows: 1, Total: -1, Status: 200, Phases: phases, Conn: b.conn}, nil
}

func (b *backend) Close(context.Context) error {
	b.closed.Add(1)
	return errors.New(canary)
}

// chain makes phases that follow each other, of names and milliseconds.
func chain(start time.Time, namesAndMillis ...any) []dbaccess.Phase {
	var phases []dbaccess.Phase
	for i := 0; i < len(namesAndMillis); i += 2 {
		d := time.Duration(namesAndMillis[i+1].(int)) * time.Millisecond
		phases = append(phases, dbaccess.Phase{Name: namesAndMillis[i].(string), Start: start, Duration: d})
		start = start.Add(d)
	}
	return phases
}
