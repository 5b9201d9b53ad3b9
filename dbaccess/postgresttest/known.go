package postgresttest

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
)

// known is what PostgREST reads from the database when it starts.
type known struct {
	schema    *catalog.Catalog
	roles     map[string][]setting // what ALTER ROLE … SET gave the roles that the login may become
	timezones map[string]bool
}

// knowledge is loaded once. A load that failed is tried again.
type knowledge struct {
	mu     sync.Mutex
	loaded *known
}

func (p *pool) known(ctx context.Context) (*known, error) {
	p.knowledge.mu.Lock()
	defer p.knowledge.mu.Unlock()
	if p.knowledge.loaded != nil {
		return p.knowledge.loaded, nil
	}
	k, err := p.learn(ctx)
	if err != nil {
		if isConnectError(err) {
			return nil, err
		}
		return nil, &failure{
			status: http.StatusServiceUnavailable, code: "PGRST002",
			message: "Could not query the database for the schema cache. Retrying.",
		}
	}
	p.knowledge.loaded = k
	return k, nil
}

// forget makes the next request load all anew.
func (p *pool) forget() {
	p.knowledge.mu.Lock()
	defer p.knowledge.mu.Unlock()
	p.knowledge.loaded = nil
}

// roleSettings are those that the login role may set: SET ROLE does not apply
// them by itself.
const roleSettings = `
select r.rolname, s.name, substr(c.entry, strpos(c.entry, '=') + 1)
from pg_catalog.pg_auth_members m
join pg_catalog.pg_roles r on r.oid = m.roleid
join pg_catalog.pg_roles me on me.oid = m.member
cross join unnest(r.rolconfig) with ordinality as c (entry, n)
join pg_catalog.pg_settings s on lower(s.name) = lower(split_part(c.entry, '=', 1))
where me.rolname = current_user and s.context = 'user'
order by r.rolname, c.n`

func (p *pool) learn(ctx context.Context) (*known, error) {
	conn, err := p.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { p.release(conn) }()
	k := &known{roles: map[string][]setting{}, timezones: map[string]bool{}}
	if k.schema, err = p.learnSchema(ctx, conn); err != nil {
		return nil, err
	}
	res := conn.ExecParams(ctx, roleSettings, nil, nil, nil, nil).Read()
	if res.Err != nil {
		return nil, res.Err
	}
	for _, r := range res.Rows {
		role := string(r[0])
		k.roles[role] = append(k.roles[role], setting{name: string(r[1]), value: string(r[2])})
	}
	res = conn.ExecParams(ctx, "select name from pg_catalog.pg_timezone_names", nil, nil, nil, nil).Read()
	if res.Err != nil {
		return nil, res.Err
	}
	for _, r := range res.Rows {
		k.timezones[string(r[0])] = true
	}
	return k, nil
}

func (p *pool) learnSchema(ctx context.Context, conn *pgconn.PgConn) (*catalog.Catalog, error) {
	sql, args := catalog.SQL(p.schemas, p.extra...)
	values, err := one(ctx, conn, compile.Statement{SQL: sql, Args: args})
	if err != nil {
		return nil, err
	}
	if len(values) != 1 {
		return nil, errors.New("postgresttest: the schema must be one value")
	}
	return catalog.Parse(values[0])
}
