package postgresttest

import (
	"context"
	"net/http"
	"sync"
)

// catalog is what PostgREST reads from the database when it starts.
type catalog struct {
	roles     map[string][]setting // what ALTER ROLE … SET gave the roles that the login may become
	timezones map[string]bool
}

// catalogCache loads the catalog once. A load that failed is tried again.
type catalogCache struct {
	mu     sync.Mutex
	loaded *catalog
}

func (p *pool) catalog(ctx context.Context) (*catalog, error) {
	p.known.mu.Lock()
	defer p.known.mu.Unlock()
	if p.known.loaded != nil {
		return p.known.loaded, nil
	}
	c, err := p.loadCatalog(ctx)
	if err != nil {
		if isConnectError(err) {
			return nil, err
		}
		return nil, &failure{
			status: http.StatusServiceUnavailable, code: "PGRST002",
			message: "Could not query the database for the schema cache. Retrying.",
		}
	}
	p.known.loaded = c
	return c, nil
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

func (p *pool) loadCatalog(ctx context.Context) (*catalog, error) {
	conn, err := p.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { p.release(conn) }()
	c := &catalog{roles: map[string][]setting{}, timezones: map[string]bool{}}
	res := conn.ExecParams(ctx, roleSettings, nil, nil, nil, nil).Read()
	if res.Err != nil {
		return nil, res.Err
	}
	for _, r := range res.Rows {
		role := string(r[0])
		c.roles[role] = append(c.roles[role], setting{name: string(r[1]), value: string(r[2])})
	}
	res = conn.ExecParams(ctx, "select name from pg_catalog.pg_timezone_names", nil, nil, nil, nil).Read()
	if res.Err != nil {
		return nil, res.Err
	}
	for _, r := range res.Rows {
		c.timezones[string(r[0])] = true
	}
	return c, nil
}
