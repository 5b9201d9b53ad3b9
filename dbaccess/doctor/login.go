package doctor

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const setupAdvice = "log in as a role of its own, which direct.SetupSQL makes: NOINHERIT, without rights, member of the callers' roles alone"

// login looks at as whom the direct path logs in, and whom it may act as.
func (x *examination) login(ctx context.Context, conn *pgconn.PgConn, f *facts) {
	x.privileges(f)
	x.memberships(ctx, conn, f)
	x.ownSettings(f)
	x.timeouts(f)
}

// privileges says what the login role may do that it shouldn't. What is an error here is
// what direct.ErrPrivilegedLogin refuses.
func (x *examination) privileges(f *facts) {
	l := f.Login
	name := plain(l.Name)
	bad := func(s Severity, what, why string) {
		x.add(Finding{ID: "login.privileges", Severity: s, What: name + " " + what, Why: why, Mend: setupAdvice})
	}
	before := x.count()
	if l.Super {
		bad(Error, "is a superuser", "a token could name any role, and a mistake would run without any policy")
	}
	if l.Bypass && !l.Super {
		bad(Error, "bypasses row-level security", "whatever runs as the login role by mistake sees every row")
	}
	if l.CreateRole && !l.Super {
		bad(Warning, "may create roles", "it can give itself most rights")
	}
	if l.Replication && !l.Super {
		bad(Warning, "may replicate", "it can copy the whole server")
	}
	if f.Owned > 0 && !l.Super {
		bad(Error, "owns tables of schema "+plain(x.cfg.Schema), "policies don't hold for a table's owner")
	}
	if f.Inherits && !l.Super {
		bad(Error, "inherits the rights of other roles", "a statement that ran as the login role by mistake would have them all")
	}
	for _, r := range f.Roles {
		if r.Name == l.Name {
			bad(Error, "is also a role that callers act as", "the two must differ: no caller's statement ever runs as the login role")
		}
	}
	if x.count() == before {
		x.add(Finding{ID: "login.privileges", What: name + " has no rights of its own that matter"})
	}
}

// privileged says whether the login role is one that direct.ErrPrivilegedLogin refuses.
func (f *facts) privileged() bool {
	return f.Login.Super || f.Login.Bypass || f.Owned > 0 || f.Inherits
}

func (x *examination) count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.findings)
}

// memberships tries to become each of the callers' roles, in a transaction that ends
// with the attempt.
func (x *examination) memberships(ctx context.Context, conn *pgconn.PgConn, f *facts) {
	var can []string
	for _, r := range f.Roles {
		name := plain(r.Name)
		bad := Finding{ID: "login.roles", Severity: Error, Mend: "grant " + name + " to " + plain(f.Login.Name)}
		switch {
		case !r.Exists:
			bad.What, bad.Mend = "there is no role "+name, "create it, or correct the list of roles"
			x.add(bad)
			continue
		case !r.Member:
			bad.What = plain(f.Login.Name) + " is no member of " + name
			bad.Why = "calls as " + name + " fail on the direct path"
			x.add(bad)
			continue
		}
		if err := x.become(ctx, conn, r.Name); err != nil {
			bad.What = plain(f.Login.Name) + " can't act as " + name
			bad.Why = whatFailed(err)
			bad.Mend += " (with set true, from PostgreSQL 16 on)"
			x.add(bad)
			continue
		}
		if r.Super || r.Bypass && r.Name != "service_role" {
			x.add(Finding{
				ID: "login.roles", Severity: Warning, What: name + ", a role that callers act as, is not bound by row-level security",
				Why: "every caller with this role sees every row", Mend: "take SUPERUSER and BYPASSRLS from it, or from the list",
			})
		}
		can = append(can, name)
	}
	if len(can) > 0 {
		x.add(Finding{ID: "login.roles", What: plain(f.Login.Name) + " can act as " + strings.Join(can, ", ")})
	}
}

var errOtherRole = errors.New("doctor: the role was not taken on")

// become acts as the role for one transaction.
func (x *examination) become(ctx context.Context, conn *pgconn.PgConn, role string) error {
	ctx, cancel := context.WithTimeout(ctx, x.budget.ask)
	defer cancel()
	var batch pgconn.Batch
	batch.ExecParams(`select pg_catalog.set_config('role',$1,true)`, [][]byte{[]byte(role)}, nil, nil, nil)
	batch.ExecParams(`select current_user`, nil, nil, nil, nil)
	got, err := last(conn, conn.ExecBatch(ctx, &batch))
	if err == nil && got != role {
		return errOtherRole
	}
	return err
}

// ownSettings points out settings made for the login role alone: PostgREST, which logs
// in as another role, doesn't have them.
func (x *examination) ownSettings(f *facts) {
	const names = "," + jsonSettings + ","
	for _, c := range f.OwnConfig {
		name, _, _ := strings.Cut(c, "=")
		if strings.Contains(strings.ToLower(names), "'"+strings.ToLower(name)+"'") {
			x.add(Finding{
				ID: "login.settings", Severity: Warning, What: plain(name) + " is set for the login role",
				Why:  "it changes the JSON of values on the direct path alone, unless PostgREST logs in as the same role",
				Mend: "alter role " + plain(f.Login.Name) + " reset " + plain(name) + "; set it for the database instead, if it is wanted",
			})
		}
	}
	if e := f.Settings["server_encoding"]; e != "UTF8" {
		x.add(Finding{ID: "login.settings", Severity: Warning, What: "the database's encoding is " + plain(e), Why: "text that it can't hold is refused", Mend: "use a database in UTF8"})
	}
}

// timeouts says which statement_timeout ends a caller's statement.
func (x *examination) timeouts(f *facts) {
	own := f.Settings["statement_timeout"]
	var parts []string
	none := own == "0" || own == ""
	for _, r := range f.Roles {
		if !r.Exists {
			continue
		}
		if r.Timeout == nil {
			parts = append(parts, plain(r.Name)+" has none of its own")
			continue
		}
		none = false
		parts = append(parts, plain(r.Name)+" "+plain(*r.Timeout))
	}
	text := "none"
	if d, err := time.ParseDuration(own + "ms"); err == nil && d > 0 {
		text = d.String()
	}
	found := Finding{ID: "timeouts", What: "statement_timeout: the login's is " + text + "; " + strings.Join(parts, ", ")}
	if none {
		found.Severity, found.Why = Info, "nothing but the caller's deadline ends a statement"
		found.Mend = "alter role … set statement_timeout = '8s' on the callers' roles: it then holds on both paths"
	}
	x.add(found)
}
