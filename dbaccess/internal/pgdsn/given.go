package pgdsn

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// given is a setting as somebody gave it, and who: "" is the string itself.
type given struct{ value, source string }

// environment maps the variables that pgx reads to the settings they give.
// Source: github.com/jackc/pgx/v5/pgconn, ParseConfig.
var environment = map[string]string{
	"PGHOST": "host", "PGPORT": "port", "PGDATABASE": "database", "PGUSER": "user", "PGPASSWORD": "password",
	"PGPASSFILE": "passfile", "PGAPPNAME": "application_name", "PGCONNECT_TIMEOUT": "connect_timeout",
	"PGSSLMODE": "sslmode", "PGSSLKEY": "sslkey", "PGSSLCERT": "sslcert", "PGSSLCERTMODE": "sslcertmode",
	"PGSSLSNI": "sslsni", "PGSSLROOTCERT": "sslrootcert", "PGSSLPASSWORD": "sslpassword",
	"PGSSLNEGOTIATION": "sslnegotiation", "PGTARGETSESSIONATTRS": "target_session_attrs", "PGSERVICE": "service",
	"PGSERVICEFILE": "servicefile", "PGTZ": "timezone", "PGOPTIONS": "options",
	"PGMINPROTOCOLVERSION": "min_protocol_version", "PGMAXPROTOCOLVERSION": "max_protocol_version",
	"PGCHANNELBINDING": "channel_binding", "PGREQUIREAUTH": "require_auth",
}

// unread are variables that libpq reads and pgx does not: whoever sets them thinks
// that they do something.
var unread = []string{
	"PGCLIENTENCODING", "PGDATESTYLE", "PGGEQO", "PGGSSENCMODE", "PGHOSTADDR", "PGLOADBALANCEHOSTS", "PGREQUIREPEER",
	"PGREQUIRESSL", "PGSSLCRL", "PGSSLCRLDIR", "PGSSLMAXPROTOCOLVERSION", "PGSSLMINPROTOCOLVERSION", "PGSYSCONFDIR",
}

// collect finds what was given, where pgx looks for it and with its precedence:
// files in the home directory, environment, service file, string. The string has
// been accepted by pgx.
func collect(dsn string) map[string]given {
	all := map[string]given{}
	add := func(from map[string]string, source string) {
		for name, value := range from {
			all[name] = given{value, source}
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		all["servicefile"] = given{filepath.Join(home, ".pg_service.conf"), "~/.pg_service.conf"}
		if file := filepath.Join(home, ".postgresql", "root.crt"); exists(file) {
			all["sslrootcert"] = given{file, "~/.postgresql/root.crt"}
		}
		cert, key := filepath.Join(home, ".postgresql", "postgresql.crt"), filepath.Join(home, ".postgresql", "postgresql.key")
		if exists(cert) && exists(key) {
			all["sslcert"] = given{cert, "~/.postgresql/postgresql.crt"}
		}
	}
	for env, name := range environment {
		if value := os.Getenv(env); value != "" {
			all[name] = given{value, env}
		}
	}
	var own map[string]string
	if isURL(dsn) {
		own = urlSettings(dsn)
	} else {
		own = keywordSettings(dsn)
	}
	service, file := own["service"], own["servicefile"]
	if service == "" {
		service = all["service"].value
	}
	if file == "" {
		file = all["servicefile"].value
	}
	if service != "" {
		add(serviceSettings(file, service), "service file")
	}
	add(own, "")
	return all
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// urlSettings reads what a URL's query gives; what comes before is in pgx's config,
// but for whether there is a password.
func urlSettings(dsn string) map[string]string {
	settings := map[string]string{}
	authority, query, _ := strings.Cut(dsn[strings.Index(dsn, "://")+3:], "?")
	if i := strings.IndexAny(authority, "@/"); i >= 0 && authority[i] == '@' {
		user, password, _ := strings.Cut(authority[:i], ":")
		if user != "" {
			settings["user"] = user
		}
		if password != "" {
			settings["password"] = password
		}
	}
	alias := false // ssl=true, which the last sslmode would override
	for pair := range strings.SplitSeq(query, "&") {
		name, value, found := strings.Cut(pair, "=")
		if !found {
			continue
		}
		name, value = percentDecoded(name), percentDecoded(value)
		switch name {
		case "dbname":
			name = "database"
		case "ssl":
			alias = value == "true"
		case "sslmode":
			alias = false
		}
		settings[name] = value
	}
	if settings["ssl"] == "true" {
		delete(settings, "ssl")
		if alias {
			settings["sslmode"] = "require"
		}
	}
	return settings
}

func percentDecoded(s string) string {
	if d, err := url.PathUnescape(s); err == nil {
		return strings.Trim(d, " ")
	}
	return s
}

const space = " \t\n\r\v\f"

// keywordSettings reads the keyword form.
// Source: https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-KEYWORD-VALUE
func keywordSettings(dsn string) map[string]string {
	settings := map[string]string{}
	for rest := strings.TrimLeft(dsn, space); rest != ""; rest = strings.TrimLeft(rest, space) {
		name, after, found := strings.Cut(rest, "=")
		if !found {
			break
		}
		var value string
		value, rest = keywordValue(strings.TrimLeft(after, space))
		switch name = strings.Trim(name, space); {
		case name == "dbname":
			name = "database"
		case name == "user" && value == "":
			continue
		}
		settings[name] = value
	}
	return settings
}

// keywordValue takes the value off the beginning of s.
func keywordValue(s string) (value, rest string) {
	quoted := strings.HasPrefix(s, "'")
	if quoted {
		s = s[1:]
	}
	var b strings.Builder
	i := 0
	for ; i < len(s); i++ {
		c := s[i]
		if quoted && c == '\'' {
			return b.String(), s[i+1:]
		}
		if !quoted && strings.IndexByte(space, c) >= 0 {
			break
		}
		if c == '\\' {
			if i++; i == len(s) {
				break
			}
			c = s[i]
		}
		b.WriteByte(c)
	}
	return b.String(), s[i:]
}

// serviceSettings reads an entry of a service file, nil when it isn't there.
// Source: https://www.postgresql.org/docs/current/libpq-pgservice.html
func serviceSettings(file, service string) map[string]string {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var settings map[string]string
	inside := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[' && line[len(line)-1] == ']':
			if inside = line[1:len(line)-1] == service; inside {
				settings = map[string]string{} // the last of its name counts
			}
		case inside:
			name, value, _ := strings.Cut(line, "=")
			if name = strings.TrimSpace(name); name == "dbname" {
				name = "database"
			}
			settings[name] = strings.TrimSpace(value)
		}
	}
	return settings
}
