package pgdsn

import (
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// connection looks at what pgx takes for settings of its own: how to reach the
// server and how to prove who one is.
func (r *reader) connection(c *pgconn.Config) {
	r.tls(c)
	r.host(c)
	if attrs := r.given["target_session_attrs"]; attrs.value != "" && attrs.value != "any" {
		r.notef("target_session_attrs", attrs.source, "asks the server what it is, one more round trip for every new connection")
	}
	if v := r.given["max_protocol_version"]; v.value == "3.2" || v.value == "latest" {
		r.warn("max_protocol_version", v.source, "PgBouncer before 1.23 refuses every protocol but 3.0: remove it, unless something needs it")
	}
	if v := r.given["min_protocol_version"]; v.value != "" && v.value != "3.0" {
		r.warn("min_protocol_version", v.source, "PgBouncer before 1.23 refuses every protocol but 3.0: remove it, unless something needs it")
	}
	if s := r.given["service"]; s.value != "" {
		r.notef("service", s.source, "fills in what the string leaves out, from the service file")
	}
	switch {
	case r.given["password"].value != "":
		if s := r.given["password"].source; s != "" {
			r.notef("password", s, "taken from there")
		}
	case c.Password != "":
		source := r.given["passfile"].source
		if r.given["passfile"].value == "" {
			source = "~/.pgpass"
		}
		r.notef("password", source, "taken from the password file")
	case r.given["sslcert"].value == "":
		r.notef("password", "", "there is none, neither here nor in PGPASSWORD or a password file: the server must let the user in without")
	}
	for _, env := range unread {
		if os.Getenv(env) != "" {
			r.notef(env, "", "set, but pgx does not read it: without effect")
		}
	}
}

// host refuses what can only be a mistake about who answers there. A refused login
// is not just wasted: Supavisor shuts out an address after a few.
func (r *reader) host(c *pgconn.Config) {
	for _, a := range attempts(c) {
		if strings.ContainsAny(a.Host, "@") {
			r.refuse("host", r.given["host"].source, "holds an @, so that the string was cut at the wrong place: percent-encode / ? # @ : and % in user and password")
			return
		}
	}
	if isURL(r.dsn) && strings.Contains(c.Database, "@") && pathHasAt(r.dsn) {
		r.refuse("database", "", "holds an @, so that the string was cut at the wrong place: percent-encode / ? # @ : and % in user and password, and @ in the database")
		return
	}
	user := r.given["user"].source
	switch project := projectOf(c.Host); {
	case r.route.Pooler == "supavisor" && c.User != "" && !strings.Contains(c.User, "."):
		r.refuse("user", user, "Supabase's shared pooler can't tell whose database it is: write the user as role.project, such as postgres.abcdefghijklmnopqrst, as the dashboard shows it")
	case project != "" && strings.HasSuffix(strings.ToLower(c.User), "."+project):
		r.refuse("user", user, "role.project is the user's form at Supabase's shared pooler alone: here it is the role without the project")
	case apiHost(c.Host):
		r.refuse("host", r.given["host"].source, "is that of Supabase's HTTP API: the database's own host is db.PROJECT.supabase.co, and the pooler's is on the dashboard")
	}
	if len(c.Fallbacks) > 0 && hasOtherHost(c) {
		r.notef("host", r.given["host"].source, "there are several: they are tried in order, and one budget for connecting covers them all, which a first one that is silent uses up")
	}
}

// apiHost says whether a host is <project>.supabase.co, where no Postgres listens.
func apiHost(host string) bool {
	project, ok := strings.CutSuffix(strings.ToLower(host), ".supabase.co")
	return ok && project != "" && !strings.Contains(project, ".")
}

func hasOtherHost(c *pgconn.Config) bool {
	for _, f := range c.Fallbacks {
		if f.Host != c.Host || f.Port != c.Port {
			return true
		}
	}
	return false
}

// pathHasAt says whether a URL's path holds an @ that is not percent-encoded.
func pathHasAt(dsn string) bool {
	_, rest, _ := strings.Cut(dsn, "://")
	if i := strings.IndexAny(rest, "@/"); i >= 0 && rest[i] == '@' {
		rest = rest[i+1:]
	}
	_, path, _ := strings.Cut(rest, "/")
	path, _, _ = strings.Cut(path, "?")
	return strings.Contains(path, "@")
}
