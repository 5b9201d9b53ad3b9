package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

// The system columns that tell one database from another: the table's number, and the
// transaction that wrote the row.
const (
	columnTable = "tableoid"
	columnWrite = "xmin"
)

// settingOf names the setting that changes a type's JSON.
var settingOf = map[string]string{
	"timestamp with time zone": "TimeZone", "interval": "IntervalStyle", "bytea": "bytea_output",
	"double precision": "extra_float_digits", "real": "extra_float_digits", "money": "lc_monetary",
}

// compare reads the same row by both paths, through the library's own backends and as
// the anonymous role, and compares what arrives: the row's identity tells whether it is
// the same database, its values whether the same settings make the same JSON.
func (x *examination) compare(ctx context.Context, f *facts, p *postgrest) {
	if p != nil {
		defer p.client.CloseIdleConnections()
	}
	if x.cfg.DirectDSN == "" || x.cfg.RESTURL == "" {
		return
	}
	const id = "same.database"
	switch {
	case f == nil || p == nil:
		x.skipped(id, "one of the paths does not answer")
		return
	case f.privileged():
		x.skipped(id, "direct.New's backend runs nothing for a login role with privileges of its own")
		return
	case len(f.Candidates) == 0:
		x.skipped(id, "no table of schema "+plain(x.cfg.Schema)+" with a key of one column can be read by "+plain(x.cfg.AnonRole)+", so no row can be compared")
		return
	}
	pair, err := x.backends(p)
	if err != nil {
		x.skipped(id, "one of the backends can't be made with this config")
		return
	}
	defer pair.close()
	x.timing(ctx, p, f.Candidates[0])
	var seen comparison
	for _, c := range f.Candidates {
		if !x.compareTable(ctx, pair, c, &seen) {
			return
		}
	}
	x.compared(&seen)
}

// pair is both paths.
type pair struct {
	rest   *rest.Backend
	direct *direct.Backend
	anon   auth.Identity
	budget budgets
}

func (x *examination) backends(p *postgrest) (*pair, error) {
	d, err := direct.New(direct.Config{DSN: x.cfg.DirectDSN, Schema: x.cfg.Schema, AnonRole: x.cfg.AnonRole, MaxConns: 1})
	if err != nil {
		return nil, err
	}
	r, err := rest.New(p.cfg)
	if err != nil {
		return nil, errors.Join(err, d.Close(context.Background()))
	}
	return &pair{rest: r, direct: d, anon: auth.Identity{Role: x.cfg.AnonRole}, budget: x.budget}, nil
}

func (p *pair) close() {
	ctx, cancel := context.WithTimeout(context.Background(), p.budget.ask)
	defer cancel()
	_ = p.rest.Close(ctx)
	_ = p.direct.Close(ctx)
}

// read returns the row, nil when there is none.
func (p *pair) read(ctx context.Context, b dbaccess.Backend, c candidate) (map[string]json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, p.budget.ask)
	defer cancel()
	columns := append([]string{columnTable, columnWrite}, c.Columns...)
	s := query.From(c.Table).Columns(columns...).OrderBy(query.Asc(c.Key)).Limit(1).Named("doctor").Spec()
	res, err := b.Do(ctx, &dbaccess.Call{Query: &s, Identity: p.anon})
	if err != nil {
		return nil, err
	}
	var rows []map[string]json.RawMessage
	if err := json.Unmarshal(res.Body, &rows); err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return rows[0], nil
}

// comparison is what the tables so far have shown.
type comparison struct {
	rows     int
	clones   int             // the same table, another row
	equal    map[string]bool // by type
	differed []string        // types
}

// compareTable compares the first row of one table. It returns false when there is
// nothing more to find out.
func (x *examination) compareTable(ctx context.Context, p *pair, c candidate, seen *comparison) bool {
	const id = "same.database"
	name := plain(c.Table)
	for attempt := range 2 {
		byREST, errREST := p.read(ctx, p.rest, c)
		byDirect, errDirect := p.read(ctx, p.direct, c)
		switch {
		case errors.Is(errREST, dbaccess.ErrNotFound) && errDirect == nil:
			x.add(Finding{
				ID: id, Severity: Error, What: "PostgREST does not know table " + name + ", which the direct path reads", Why: "it serves another database, or its schema cache is older than the table",
				Mend: "compare PostgREST's db-uri with the string, then reload its schema: notify pgrst, 'reload schema'",
			})
			return false
		case errREST != nil:
			x.add(readFailure("PostgREST", name, errREST))
			return false
		case errDirect != nil:
			x.add(readFailure("the direct path", name, errDirect))
			return false
		case byREST == nil && byDirect == nil:
			return true
		case byREST == nil || byDirect == nil || string(byREST[columnTable]) != string(byDirect[columnTable]):
			if attempt == 0 && (byREST == nil || byDirect == nil) {
				continue // perhaps it was written or deleted in between
			}
			x.add(Finding{
				ID: id, Severity: Error, What: "the paths lead to different databases, to judge by table " + name, Why: "what one path writes, the other never reads",
				Mend: "compare PostgREST's db-uri with the string",
			})
			return false
		case string(byREST[columnWrite]) != string(byDirect[columnWrite]):
			if attempt == 0 {
				continue
			}
			seen.clones++
			return true
		}
		seen.rows++
		seen.values(c, byREST, byDirect)
		return true
	}
	return true
}

// values compares those whose JSON depends on settings.
func (s *comparison) values(c candidate, a, b map[string]json.RawMessage) {
	if s.equal == nil {
		s.equal = map[string]bool{}
	}
	for i, column := range c.Columns {
		if i >= len(c.Types) || string(a[column]) == "null" || a[column] == nil {
			continue
		}
		kind := c.Types[i]
		if compact(a[column]) == compact(b[column]) {
			s.equal[kind] = true
		} else if !slices.Contains(s.differed, kind) {
			s.differed = append(s.differed, kind)
		}
	}
}

func compact(v json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return string(v)
	}
	return b.String()
}

func readFailure(path, table string, err error) Finding {
	f := Finding{ID: "same.database", Severity: Error, What: path + " can't read a row of table " + table}
	if e, ok := errors.AsType[*dbaccess.Error](err); ok {
		f.Why, f.Mend = plainCode(e.Code), e.Advice
	} else if errors.Is(err, context.DeadlineExceeded) {
		f.Why = "no answer in time"
	}
	return f
}

// compared sums up.
func (x *examination) compared(s *comparison) {
	switch {
	case s.rows == 0 && s.clones > 0:
		x.add(Finding{
			ID: "same.database", Severity: Warning, What: "the same tables hold other rows: a copy, a standby that lags, or rows that change all the time",
			Mend: "compare PostgREST's db-uri with the string",
		})
	case s.rows == 0:
		x.skipped("same.database", "no row could be read by "+plain(x.cfg.AnonRole))
		return
	default:
		x.add(Finding{
			ID: "same.database", What: "both paths read the same row of the same table, to judge by the numbers of both",
			Why: "so it is the same database, or a copy in which the row has not changed since",
		})
	}
	var settings []string
	for _, kind := range s.differed {
		settings = append(settings, settingOf[kind]+" ("+kind+")")
	}
	if len(settings) > 0 {
		x.add(Finding{
			ID: "same.json", Severity: Error, What: "the same value is other JSON on the other path: " + strings.Join(settings, ", "), Why: "the login roles have different settings",
			Mend: "take the setting from both login roles, and make it for the database: alter database … set",
		})
		return
	}
	var missing []string
	for kind, setting := range settingOf {
		if !s.equal[kind] && kind != "real" && kind != "money" {
			missing = append(missing, setting)
		}
	}
	slices.Sort(missing)
	f := Finding{ID: "same.json", What: "values whose JSON depends on settings are the same on both paths"}
	if len(missing) > 0 {
		f.Severity = Info
		f.What += "; there was none to tell " + strings.Join(missing, ", ") + " by"
		if len(s.equal) == 0 {
			f.What = "no value could be read whose JSON depends on settings"
		}
	}
	x.add(f)
}

// timing looks for PostgREST's own account of its time, which only answers without an
// error have.
func (x *examination) timing(ctx context.Context, p *postgrest, c candidate) {
	r, err := p.request(ctx, http.MethodHead, p.base.JoinPath(c.Table), "")
	if err != nil || r.status >= 300 {
		return
	}
	f := Finding{ID: "rest.timing", What: "PostgREST tells where its time goes (Server-Timing)"}
	if r.header.Get("Server-Timing") == "" {
		f.Severity, f.What = Info, "PostgREST does not tell where its time goes"
		f.Why, f.Mend = "traces show its time as one stretch", "set server-timing-enabled"
	}
	x.add(f)
}
