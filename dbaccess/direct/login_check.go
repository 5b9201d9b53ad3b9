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

// checkSQL has the arguments role, wanted level or "", schemas as JSON, and whether
// faults count. It is planned anew each time, so it is kept small: names come from
// functions where a join would do, and what the role owns from the index of
// owners.
//
// The settings of roles are those that PostgREST applies: of the roles that the login
// role is a member of itself, those for all databases, and of these the ones that
// it may set.
// Source: PostgREST v16.2, src/library/PostgREST/Config/Database.hs, queryRoleSettings
const checkSQL = `with me as materialized (select oid,rolsuper,rolbypassrls from pg_catalog.pg_roles where rolname operator(pg_catalog.=) session_user),` +
	`config as materialized (select pg_catalog.pg_get_userbyid(d.setrole) role,s.name,s.value from me join pg_catalog.pg_db_role_setting d ` +
	`on d.setdatabase operator(pg_catalog.=) 0 and exists (select from pg_catalog.pg_auth_members m ` +
	`where m.member operator(pg_catalog.=) me.oid and m.roleid operator(pg_catalog.=) d.setrole) ` +
	`cross join lateral (select pg_catalog.substr(e,1,pg_catalog.strpos(e,'=') operator(pg_catalog.-) 1) name,` +
	`pg_catalog.substr(e,pg_catalog.strpos(e,'=') operator(pg_catalog.+) 1) value from pg_catalog.unnest(d.setconfig) c (e)) s ` +
	`where exists (select from pg_catalog.pg_settings p where p.name operator(pg_catalog.=) s.name and (` + byUser + `))),` +
	`verdict as materialized (select pg_catalog.concat_ws('; ',case when rolsuper then 'superuser' end,case when rolbypassrls then 'bypassrls' end,` +
	`case when not rolsuper then (select case when pg_catalog.count(*) operator(pg_catalog.>) 0 then ` +
	`pg_catalog.concat('inherits ',pg_catalog.string_agg(rolname::pg_catalog.text,', ')) end from (select rolname from pg_catalog.pg_roles r ` +
	`where r.oid operator(pg_catalog.<>) me.oid and pg_catalog.pg_has_role(me.oid,r.oid,'usage') order by 1 limit 3) i) end,` +
	`case when not rolsuper then (select case when pg_catalog.count(*) operator(pg_catalog.>) 0 then ` +
	`pg_catalog.concat('owns ',pg_catalog.string_agg(name,', ')) end from (select pg_catalog.concat_ws('.',n.nspname,c.relname) name ` +
	`from pg_catalog.pg_shdepend o left join pg_catalog.pg_class c on o.classid operator(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass ` +
	`and c.oid operator(pg_catalog.=) o.objid and c.relkind operator(pg_catalog.=) any ('{r,p,v,m,f}') ` +
	`join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) ` +
	`case when o.classid operator(pg_catalog.=) 'pg_catalog.pg_namespace'::pg_catalog.regclass then o.objid else c.relnamespace end ` +
	`where o.refclassid operator(pg_catalog.=) 'pg_catalog.pg_authid'::pg_catalog.regclass and o.refobjid operator(pg_catalog.=) me.oid ` +
	`and o.deptype operator(pg_catalog.=) 'o' and o.dbid operator(pg_catalog.=) ` +
	`(select oid from pg_catalog.pg_database where datname operator(pg_catalog.=) current_catalog) ` +
	`and $3::pg_catalog.jsonb operator(pg_catalog.?) n.nspname::pg_catalog.text order by 1 limit 3) w) end) faults,` +
	`coalesce(case when $2::pg_catalog.text operator(pg_catalog.<>) '' then $2::pg_catalog.text end,case when $1::pg_catalog.text operator(pg_catalog.=) '' then pg_catalog.current_setting('transaction_isolation') end,` +
	`(select case when pg_catalog.lower(value) operator(pg_catalog.=) any ('{serializable,repeatable read}') then pg_catalog.lower(value) end ` +
	`from config where role operator(pg_catalog.=) $1::pg_catalog.text and ` + isLevel + `),'` + readCommitted + `') level from me) ` +
	`select case when $4::pg_catalog.bool and faults operator(pg_catalog.<>) '' then pg_catalog.concat('` + faultsText + `{',faults,'}')::pg_catalog.int4::pg_catalog.text ` +
	`when level operator(pg_catalog.<>) pg_catalog.current_setting('transaction_isolation') then pg_catalog.concat('` + levelText + `{',level,'}')::pg_catalog.int4::pg_catalog.text ` +
	`else (select pg_catalog.json_build_object('level',pg_catalog.current_setting('default_transaction_isolation'),'roles',` +
	`coalesce((select pg_catalog.json_agg(x) from (` +
	`select role,pg_catalog.max(value) filter (where ` + isLevel + `) as level,` +
	`pg_catalog.json_agg(pg_catalog.json_build_array(name,value)) filter (where not ` + isLevel + `) as settings ` +
	`from config group by role) x),'[]'))::pg_catalog.text) end d,` +
	`pg_catalog.length(pg_catalog.set_config('` + settingsOfRole + `',coalesce((select pg_catalog.json_object_agg(name,value)::pg_catalog.text ` +
	`from config where role operator(pg_catalog.=) $1::pg_catalog.text and not ` + isLevel + `),''),true)) n from verdict`

const (
	byUser = `p.context operator(pg_catalog.=) 'user'`
	// granted is known from Postgres 15 on.
	granted = ` or pg_catalog.has_parameter_privilege(me.oid,p.name,'set')`
	isLevel = `name operator(pg_catalog.=) 'default_transaction_isolation'`

	// settingsOfRole is where the check leaves the settings of the caller's role for
	// the statement behind it, as a JSON object.
	settingsOfRole = "twinpath.settings"
	// roleSettingsApplied is an argument of that statement which applies them.
	roleSettingsApplied = `(select pg_catalog.count(pg_catalog.set_config(key,value,true)) from pg_catalog.json_each_text(` +
		`case when pg_catalog.current_setting('` + settingsOfRole + `') operator(pg_catalog.<>) '' ` +
		`then pg_catalog.current_setting('` + settingsOfRole + `')::pg_catalog.json end)),`
)

// forVersion adds to the check the settings that the login role has been granted, as
// a server of that version knows them. Where a pooler hides the version they are
// left aside.
func forVersion(version, sql string) string {
	digits := len(version) - len(strings.TrimLeft(version, "0123456789")) // of 15.4 or 19beta1
	if n, err := strconv.Atoi(version[:digits]); err != nil || n < 15 {
		return sql
	}
	return strings.Replace(sql, byUser, byUser+granted, 1)
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
	case len(res.Rows) != 1 || len(res.Rows[0]) != 2:
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
