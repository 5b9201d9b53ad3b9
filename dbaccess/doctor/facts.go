package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/direct"
)

// facts is what a server says about itself and about who asks.
type facts struct {
	Version    string
	PID        uint32
	Database   string
	OID        int64
	Started    string // of the server, with the OID enough to know a database again
	Recovery   bool
	Clock      float64
	Client     *string // address of the client as the server sees it
	MaxConns   int     `json:"max_conns"`
	Reserved   int
	Sessions   int
	Login      loginRole
	Owned      int
	Inherits   bool // the rights of another role
	Settings   map[string]string
	OwnConfig  []string `json:"own_config"` // settings made for the login role
	Roles      []callerRole
	Candidates []candidate

	mode      string        // "direct", "session", "transaction", "" when not known
	pooler    string        // "supavisor", "pgbouncer", "a pooler", ""
	skew      time.Duration // the server's clock less this machine's
	uncertain time.Duration
}

type loginRole struct {
	Name                                                      string
	Super, Bypass, Inherit, CreateRole, CreateDB, Replication bool
	Limit                                                     int
}

type callerRole struct {
	Name                                 string
	Exists, Member, Super, Bypass, Login bool
	Timeout                              *string
}

// candidate is a table that both paths can read a row of at little cost.
type candidate struct {
	Table, Key string
	Columns    []string // of types whose JSON depends on settings
	Types      []string // theirs
}

// jsonSettings are those that change how Postgres writes a value into JSON.
const jsonSettings = `'TimeZone','IntervalStyle','bytea_output','extra_float_digits','DateStyle','lc_monetary','xmlbinary'`

// $1 roles, $2 schema, $3 the anonymous role. A candidate has a key of one column, and is
// small or has no policies: to look for a row that policies hide would read all of it.
const factsSQL = `select json_build_object(
	'version', current_setting('server_version'), 'pid', pg_backend_pid(), 'database', current_database(),
	'oid', (select oid::int8 from pg_database where datname = current_database()),
	'started', extract(epoch from pg_postmaster_start_time())::text,
	'recovery', pg_is_in_recovery(), 'clock', extract(epoch from clock_timestamp())::float8, 'client', host(inet_client_addr()),
	'max_conns', current_setting('max_connections')::int, 'reserved', current_setting('superuser_reserved_connections')::int,
	'sessions', (select count(*) from pg_stat_activity where backend_type = 'client backend'),
	'login', (select json_build_object('name', rolname, 'super', rolsuper, 'bypass', rolbypassrls, 'inherit', rolinherit,
		'createrole', rolcreaterole, 'createdb', rolcreatedb, 'replication', rolreplication, 'limit', rolconnlimit) from pg_roles where rolname = session_user),
	'owned', (select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where n.nspname = $2 and c.relkind in ('r','p','v','m','f') and pg_get_userbyid(c.relowner) = session_user),
	'inherits', exists (select from pg_roles r where r.rolname <> session_user and pg_has_role(session_user, r.oid, 'usage')),
	'settings', (select json_object_agg(name, reset_val) from pg_settings where name in (` + jsonSettings + `,'statement_timeout','server_encoding')),
	'own_config', (select coalesce(json_agg(c), '[]') from pg_db_role_setting s join pg_roles r on r.oid = s.setrole, unnest(s.setconfig) c
		where r.rolname = session_user and s.setdatabase in (0, (select oid from pg_database where datname = current_database()))),
	'roles', (select json_agg(json_build_object('name', n, 'exists', r.oid is not null, 'member', coalesce(pg_has_role(session_user, r.oid, 'member'), false),
		'super', coalesce(r.rolsuper, false), 'bypass', coalesce(r.rolbypassrls, false), 'login', coalesce(r.rolcanlogin, false),
		'timeout', (select substr(c, length('statement_timeout=') + 1) from pg_db_role_setting s, unnest(s.setconfig) c
			where s.setrole = r.oid and s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
			and c like 'statement_timeout=%' order by s.setdatabase desc limit 1)) order by o)
		from unnest($1::text[]) with ordinality a(n, o) left join pg_roles r on r.rolname = n),
	'candidates', (select coalesce(json_agg(t order by cardinality(t.columns) desc, t."table"), '[]') from (
		select c.relname as "table", k.attname as key, x.columns, x.types
		from pg_class c join pg_namespace n on n.oid = c.relnamespace
		join pg_index i on i.indrelid = c.oid and i.indisprimary and i.indnkeyatts = 1
		join pg_attribute k on k.attrelid = c.oid and k.attnum = i.indkey[0],
		lateral (select coalesce(array_agg(a.attname order by a.attnum), '{}') as columns, coalesce(array_agg(format_type(a.atttypid, null) order by a.attnum), '{}') as types
			from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
			and a.atttypid in ('timestamptz'::regtype, 'interval'::regtype, 'bytea'::regtype, 'float8'::regtype, 'float4'::regtype, 'money'::regtype)) x
		where n.nspname = $2 and c.relkind = 'r' and not c.relispartition and (not c.relrowsecurity or pg_relation_size(c.oid) < 16777216)
		and exists (select from pg_roles r where r.rolname = $3 and has_schema_privilege(r.oid, n.oid, 'usage') and has_table_privilege(r.oid, c.oid, 'select'))
		order by cardinality(x.columns) desc, c.relname limit 4) t)
)`

// ask asks the server about itself.
func (x *examination) ask(ctx context.Context, t *target, conn *pgconn.PgConn) *facts {
	begin := time.Now()
	f, err := ask[facts](ctx, x.budget, conn, factsSQL, textArray(x.cfg.Roles), x.cfg.Schema, x.cfg.AnonRole)
	end := time.Now()
	id := t.name + ".version"
	if err != nil || f.Login.Name == "" {
		bad := Finding{ID: id, Severity: Error, What: "the server could not be asked about itself", Took: end.Sub(begin)}
		bad.Why, bad.Mend = whatFailed(err), "is it Postgres, 13 or newer, or a pooler that can reach it?"
		x.add(bad)
		return nil
	}
	middle := begin.Add(end.Sub(begin) / 2)
	f.skew = time.Duration((f.Clock - float64(middle.UnixMicro())/1e6) * float64(time.Second))
	f.uncertain = end.Sub(begin) / 2
	what := "PostgreSQL " + plain(plainVersion(f.Version))
	found := Finding{ID: id, What: what}
	if f.Recovery {
		found.Severity, found.What = Warning, what+", a standby: it can't be written to"
		found.Mend = "use the primary's address, or keep writes off the direct path"
	} else if older(plainVersion(f.Version), "13") {
		found.Severity, found.Mend = Warning, "this library is made for PostgreSQL 13 and newer: upgrade"
	}
	x.add(found)
	return f
}

// whatFailed says of an error what can be said without its text.
func whatFailed(err error) string {
	if err == nil {
		return "the answer made no sense"
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return "SQLSTATE " + plainCode(pg.Code)
	}
	if errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err) {
		return "no answer in time"
	}
	return direct.ConnectError(err, false).Advice
}

// ask runs a question after the prologue, in one round trip and one transaction, and
// reads the JSON that is the only column of its only row.
func ask[T any](ctx context.Context, b budgets, conn *pgconn.PgConn, sql string, args ...string) (*T, error) {
	ctx, cancel := context.WithTimeout(ctx, b.ask)
	defer cancel()
	var batch pgconn.Batch
	batch.ExecParams(b.prologue(), nil, nil, nil, nil)
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	batch.ExecParams(sql, values, nil, nil, nil)
	text, err := last(conn, conn.ExecBatch(ctx, &batch))
	if err != nil {
		return nil, err
	}
	answer := new(T)
	if err := json.Unmarshal([]byte(text), answer); err != nil {
		return nil, errAnswer
	}
	return answer, nil
}

var errAnswer = errors.New("doctor: the answer has another form than the question")

// maxRows bounds what is read of a server that does not stop.
const maxRows = 1000

// last returns the first column of the last row of all results.
func last(conn *pgconn.PgConn, results *pgconn.MultiResultReader) (string, error) {
	var text string
	found := false
	for rows := 0; results.NextResult(); {
		r := results.ResultReader()
		for r.NextRow() {
			if rows++; rows > maxRows {
				_ = conn.Conn().Close()
				return "", errAnswer
			}
			if v := r.Values(); len(v) > 0 {
				text, found = string(v[0]), true
			}
		}
	}
	if err := results.Close(); err != nil {
		return "", err
	}
	if !found {
		return "", errAnswer
	}
	return text, nil
}

// textArray writes an array as Postgres reads it.
func textArray(values []string) string {
	out := []byte{'{'}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '"')
		for j := range len(v) {
			if v[j] == '"' || v[j] == '\\' {
				out = append(out, '\\')
			}
			out = append(out, v[j])
		}
		out = append(out, '"')
	}
	return string(append(out, '}'))
}
