package direct

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
)

// What the check quotes when it fails.
const (
	faultsText = "twinpath login "
	levelText  = "twinpath level "
)

// loginCheck is the statement that looks at the login role. It fails, and so keeps
// the server from running anything behind it, where the role has privileges of its
// own, or where the transaction's isolation level is not that of the caller's role.
// It yields what is to be known else: see loginAnswer.
//
// It runs as the login role and under its search path, where others may have put
// operators and functions: it leaves nothing to be looked up there.
type loginCheck struct {
	statement compile.Statement
	login     *login
	changes   uint64
}

// rolesSQL are the settings that PostgREST applies: of the roles that the login
// role is a member of itself, those for all databases, and of these the ones that
// it may set.
// Source: PostgREST v16.2, src/library/PostgREST/Config/Database.hs, queryRoleSettings
const (
	rolesSQL = `pg_catalog.pg_auth_members m ` +
		`join pg_catalog.pg_roles l on l.oid operator(pg_catalog.=) m.member and l.rolname operator(pg_catalog.=) session_user ` +
		`join pg_catalog.pg_roles r on r.oid operator(pg_catalog.=) m.roleid ` +
		`cross join lateral (select pg_catalog.substr(e,1,pg_catalog.strpos(e,'=') operator(pg_catalog.-) 1) name,` +
		`pg_catalog.substr(e,pg_catalog.strpos(e,'=') operator(pg_catalog.+) 1) value from pg_catalog.unnest(r.rolconfig) c (e)) s`
	maySetSQL = `exists (select from pg_catalog.pg_settings p where p.name operator(pg_catalog.=) s.name and (p.context operator(pg_catalog.=) 'user'`
	// granted is known from Postgres 15 on.
	granted = ` or pg_catalog.has_parameter_privilege(l.oid,p.name,'set')`

	isLevel  = `s.name operator(pg_catalog.=) 'default_transaction_isolation'`
	notLevel = `s.name operator(pg_catalog.<>) 'default_transaction_isolation'`
)

// roleSettingsApplied is an argument of the settings' statement that applies those
// of the role $2.
const roleSettingsApplied = `(select pg_catalog.count(pg_catalog.set_config(s.name,s.value,true)) from ` + rolesSQL +
	` where r.rolname operator(pg_catalog.=) $2::text and ` + notLevel + ` and ` + maySetSQL + `))),`

// checkSQL has the arguments role, wanted level or "", schemas as JSON, and whether
// faults count.
const checkSQL = `with me as (select oid,rolname,rolsuper,rolbypassrls from pg_catalog.pg_roles where rolname operator(pg_catalog.=) session_user),` +
	`config as (select r.rolname,s.name,s.value from ` + rolesSQL + ` where ` + maySetSQL + `))),` +
	`exposed as (select n.oid,n.nspname,n.nspowner from pg_catalog.pg_namespace n ` +
	`join pg_catalog.json_array_elements_text($3::json) x (name) on n.nspname operator(pg_catalog.=) x.name),` +
	`inherited as (select r.rolname from me,pg_catalog.pg_roles r where not me.rolsuper and r.oid operator(pg_catalog.<>) me.oid ` +
	`and pg_catalog.pg_has_role(me.oid,r.oid,'usage') order by 1 limit 3),` +
	`owned as (select n.nspname::text name from exposed n,me where not me.rolsuper and n.nspowner operator(pg_catalog.=) me.oid union all ` +
	`(select pg_catalog.concat(n.nspname,'.',c.relname) from me,exposed n join pg_catalog.pg_class c on c.relnamespace operator(pg_catalog.=) n.oid ` +
	`where not me.rolsuper and c.relowner operator(pg_catalog.=) me.oid and c.relkind operator(pg_catalog.=) any ('{r,p,v,m,f}') order by 1 limit 3)),` +
	`verdict as (select pg_catalog.concat_ws('; ',case when rolsuper then 'superuser' end,case when rolbypassrls then 'bypassrls' end,` +
	`(select pg_catalog.concat('inherits ',pg_catalog.string_agg(rolname::text,', ')) from inherited having pg_catalog.count(*) operator(pg_catalog.>) 0),` +
	`(select pg_catalog.concat('owns ',pg_catalog.string_agg(name,', ')) from owned having pg_catalog.count(*) operator(pg_catalog.>) 0)) faults,` +
	`coalesce(case when $2::text operator(pg_catalog.<>) '' then $2::text end,case when $1::text operator(pg_catalog.=) '' then pg_catalog.current_setting('transaction_isolation') end,` +
	`(select case when pg_catalog.lower(s.value) operator(pg_catalog.=) any ('{serializable,repeatable read}') then pg_catalog.lower(s.value) end ` +
	`from config s where s.rolname operator(pg_catalog.=) $1::text and ` + isLevel + `),'` + readCommitted + `') level from me) ` +
	`select case when $4::bool and faults operator(pg_catalog.<>) '' then pg_catalog.concat('` + faultsText + `{',faults,'}')::int4::text ` +
	`when level operator(pg_catalog.<>) pg_catalog.current_setting('transaction_isolation') then pg_catalog.concat('` + levelText + `{',level,'}')::int4::text ` +
	`else (select pg_catalog.json_build_object('level',pg_catalog.current_setting('default_transaction_isolation'),'roles',` +
	`coalesce((select pg_catalog.json_agg(pg_catalog.json_build_object('role',rolname,'level',level,'settings',settings)) from (` +
	`select rolname,pg_catalog.max(s.value) filter (where ` + isLevel + `) as level,` +
	`coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(s.name,s.value)) filter (where ` + notLevel + `),'[]') as settings ` +
	`from config s group by rolname) x),'[]'))::text) end d from verdict`

// forVersion adds to a statement about settings those that the login role has been
// granted, as a server of that version knows them. Where a pooler hides the version
// they are left aside.
func forVersion(version, sql string) string {
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < 15 {
		return sql
	}
	const user = `p.context operator(pg_catalog.=) 'user'`
	return strings.ReplaceAll(sql, user, user+granted)
}

// loginCheck makes the check that a transaction brings along.
func (b *Backend) loginCheck(s *settings, version string) *loginCheck {
	role, level := s.role, s.level
	if s.begun {
		role, level = "", "" // any
	}
	return &loginCheck{
		statement: compile.Statement{SQL: forVersion(version, checkSQL), Args: []string{role, level, b.cfg.schemasJSON, strconv.FormatBool(!b.cfg.AllowPrivilegedLogin)}},
		login:     &b.login, changes: s.login.changes,
	}
}

// take notes what the check has yielded.
func (c *loginCheck) take(document []byte) error {
	known, err := parseLogin(document)
	if err != nil {
		return err
	}
	c.login.learn(known, c.changes, LoginMaxAge)
	return nil
}

// checkLogin looks at the login role on its own, within ctx, and so finds out whether
// the server answers. The work's own context tells why it didn't.
func (b *Backend) checkLogin(ctx, work context.Context, conn *pgconn.PgConn) error {
	s := settings{begun: true, login: b.login.state("", time.Now())}
	c := b.loginCheck(&s, conn.ParameterStatus("server_version"))
	var args [4][]byte
	for i, a := range c.statement.Args {
		args[i] = []byte(a)
	}
	res := conn.ExecParams(ctx, c.statement.SQL, args[:], nil, nil, nil).Read()
	err := res.Err
	switch {
	case err != nil:
	case len(res.Rows) != 1 || len(res.Rows[0]) != 1:
		err = errAnswer
	default:
		err = c.take(res.Rows[0][0])
	}
	if err == nil {
		return nil
	}
	if e := b.refusal(stageSettings, err, c.changes); e != nil {
		return e
	}
	return b.runFailure(work, failedCall{stage: stageSettings, readOnly: true}, err)
}
