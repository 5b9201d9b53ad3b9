package postgresttest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
)

// known is what PostgREST reads from the database when it starts.
type known struct {
	schema    *catalog.Catalog
	roles     map[string][]setting // what ALTER ROLE … SET gave the roles that the login may become
	levels    map[string]string    // of them, the isolation level
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

// defaultLevel is the setting that is the level of a transaction's isolation.
const defaultLevel = "default_transaction_isolation"

// roleSettings are those that the login role may set: SET ROLE does not apply
// them by itself.
// Source: PostgREST v16.2, src/library/PostgREST/Config/Database.hs, queryRoleSettings
const roleSettings = `
select r.rolname, s.name, substr(c.entry, strpos(c.entry, '=') + 1)
from pg_catalog.pg_auth_members m
join pg_catalog.pg_roles r on r.oid = m.roleid
join pg_catalog.pg_roles me on me.oid = m.member
cross join unnest(r.rolconfig) with ordinality as c (entry, n)
join pg_catalog.pg_settings s on s.name = split_part(c.entry, '=', 1)
where me.rolname = current_user and (s.context = 'user' %s)
order by r.rolname, c.n`

// grantedSettings are others that the login role may set, from Postgres 15 on.
const grantedSettings = "or has_parameter_privilege(me.oid, s.name, 'set')"

func roleSettingsSQL(conn *pgconn.PgConn) string {
	granted := ""
	major, _, _ := strings.Cut(conn.ParameterStatus("server_version"), ".")
	if n, err := strconv.Atoi(major); err == nil && n >= 15 {
		granted = grantedSettings
	}
	return fmt.Sprintf(roleSettings, granted)
}

func (p *pool) learn(ctx context.Context) (*known, error) {
	conn, err := p.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { p.release(conn) }()
	k := &known{roles: map[string][]setting{}, levels: map[string]string{}, timezones: map[string]bool{}}
	if k.schema, err = p.learnSchema(ctx, conn); err != nil {
		return nil, err
	}
	res := conn.ExecParams(ctx, roleSettingsSQL(conn), nil, nil, nil, nil).Read()
	if res.Err != nil {
		return nil, res.Err
	}
	for _, r := range res.Rows {
		role, s := string(r[0]), setting{name: string(r[1]), value: string(r[2])}
		if s.name == defaultLevel {
			k.levels[role] = s.value
			continue
		}
		k.roles[role] = append(k.roles[role], s)
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
