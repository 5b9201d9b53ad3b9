package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twinpath/twinpath/dbaccess/direct"
)

// order is that of a report's findings, whichever check ends first.
var order = []string{
	"config",
	"direct.dsn", "direct.dns", "direct.tcp", "direct.tls", "direct.login", "direct.version", "direct.rtt",
	"direct.pooler", "direct.statements",
	"console.dsn", "console.dns", "console.tcp", "console.tls", "console.login", "console.version",
	"login.privileges", "login.roles", "login.settings", "timeouts", "pool.size", "clock.postgres",
	"session.dsn", "session.dns", "session.tcp", "session.tls", "session.login", "session.mode", "session.database", "session.listen",
	"rest.url", "rest.dns", "rest.tcp", "rest.tls", "rest.http", "rest.version", "rest.schema", "rest.timing", "rest.rtt", "clock.rest", "rest.token",
	"same.database", "same.json",
	"budget",
}

// examination is one run: its config and what has been found so far.
type examination struct {
	cfg     Config
	budget  budgets
	refused atomic.Bool // a login was: no other is tried

	mu       sync.Mutex
	findings []Finding
}

func (x *examination) add(f Finding) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.findings = append(x.findings, f)
}

// skipped says what could not be examined because of what.
func (x *examination) skipped(id, why string) {
	x.add(Finding{ID: id, Severity: Info, What: "not examined: " + why})
}

// Run examines what the config names. It takes no longer than Config.Timeout, plus what
// it takes to close connections. Everything that goes wrong is a finding.
func Run(ctx context.Context, cfg Config) Report {
	start := time.Now()
	x := &examination{cfg: cfg.WithDefaults()}
	x.budget = budgetsOf(x.cfg.Timeout)
	ctx, cancel := context.WithTimeout(ctx, x.cfg.Timeout)
	defer cancel()
	if !x.configured() {
		return x.report(start)
	}
	var paths sync.WaitGroup
	var database *facts
	var server *postgrest
	paths.Go(func() { database = x.databases(ctx) })
	paths.Go(func() { server = x.rest(ctx) })
	paths.Wait()
	x.compare(ctx, database, server)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		x.add(Finding{
			ID: "budget", Severity: Warning, What: "the time was up before every check had ended",
			Mend: "mend what the others found, or give it more time (Config.Timeout)",
		})
	}
	return x.report(start)
}

func (x *examination) report(start time.Time) Report {
	x.mu.Lock()
	defer x.mu.Unlock()
	slices.SortStableFunc(x.findings, func(a, b Finding) int { return slices.Index(order, a.ID) - slices.Index(order, b.ID) })
	return Report{Findings: x.findings, Took: time.Since(start)}
}

// configured says whether there is something to examine, and adds what is wrong with
// the config itself.
func (x *examination) configured() bool {
	c := x.cfg
	bad := func(what, mend string) { x.add(Finding{ID: "config", Severity: Error, What: what, Mend: mend}) }
	if c.DirectDSN == "" && c.SessionDSN == "" && c.AdminDSN == "" && c.RESTURL == "" {
		bad("there is nothing to examine", "give a connection string, or PostgREST's URL")
		return false
	}
	if c.Instances < 0 || c.MaxConns < 0 || c.PoolerClients < 0 {
		bad("Instances, MaxConns or PoolerClients is negative", "leave out what isn't known")
	}
	if c.RESTURL == "" && (c.JWTSecret != "" || c.APIKey != "") {
		bad("there is a secret or a key, and no URL of PostgREST to use it with", "give PostgREST's URL")
	}
	for _, name := range append([]string{c.Schema, c.AnonRole}, c.Roles...) {
		if name == "" || strings.ContainsAny(name, "\x00\r\n") {
			bad("a role or schema has no name that can be", "correct Schema, AnonRole and Roles")
			return false
		}
	}
	return true
}

// databases examines the ways to Postgres, one after the other: each login waits for
// the one before, so that one that is refused is the last.
func (x *examination) databases(ctx context.Context) *facts {
	var database *facts
	if x.cfg.DirectDSN != "" {
		database = x.direct(ctx)
	} else if x.cfg.AdminDSN != "" {
		x.console(ctx)
	}
	if x.cfg.SessionDSN != "" {
		x.session(ctx, database)
	} else if x.cfg.DirectDSN != "" {
		x.skipped("session.dsn", "there is no session string, so nothing can LISTEN or hold a session lock")
	}
	return database
}

// direct examines Config.DirectDSN, and returns what the server told, nil when nobody
// could be asked.
func (x *examination) direct(ctx context.Context) *facts {
	t := x.target("direct", x.cfg.DirectDSN)
	if t == nil {
		return nil
	}
	defer t.close()
	conn := x.connect(ctx, t)
	if conn == nil {
		return nil
	}
	f := x.ask(ctx, t, conn)
	if f == nil {
		return nil
	}
	x.pooler(ctx, t, conn, f)
	x.statements(ctx, conn, f)
	x.login(ctx, conn, f)
	x.clock("clock.postgres", "Postgres", f.skew, f.uncertain)
	x.size(t, f, x.console(ctx))
	return f
}

// maxConnsOf is what direct.New would make of config and string.
func (x *examination) maxConnsOf(t *target) int {
	if x.cfg.MaxConns > 0 {
		return x.cfg.MaxConns
	}
	if t.settings.MaxConns > 0 {
		return int(t.settings.MaxConns)
	}
	return direct.DefaultMaxConns
}
