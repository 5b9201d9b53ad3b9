package pgdsn

import "strings"

// Error says everything that is wrong with a connection string. It holds no
// value of it, and nothing to unwrap: pgx's own error keeps the whole string.
type Error struct {
	Problems []Problem
}

// Problem is one thing that is wrong.
type Problem struct {
	Param  string // the parameter, "" when the string can't be read at all
	Source string // where it comes from, other than the string itself: "PGTZ", "options"
	Advice string // what to do
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("connection string: ")
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("; ")
		}
		if p.Param != "" {
			b.WriteString(p.Param)
			if p.Source != "" {
				b.WriteString(" (from ")
				b.WriteString(p.Source)
				b.WriteByte(')')
			}
			b.WriteString(": ")
		}
		b.WriteString(p.Advice)
	}
	return b.String()
}

// syntaxAdvice says in words of our own why pgx could not read the string: its
// error quotes the string, with no promise to leave the password out.
func syntaxAdvice(dsn string, err error) string {
	text := err.Error() // cannot parse `…`: reason (cause)
	if i := strings.LastIndex(text, "`: "); i >= 0 {
		text = text[i:]
	}
	for _, s := range syntaxTexts {
		if strings.Contains(text, s.contains) {
			return s.advice
		}
	}
	if isURL(dsn) {
		return "the URL can't be read: write postgres://user:password@host:port/database, with / ? # @ : and % in user or password percent-encoded"
	}
	return "the string can't be read: write a URL, postgres://user:password@host:port/database, or key=value pairs separated by spaces, with values that hold spaces in single quotes"
}

var syntaxTexts = []struct{ contains, advice string }{
	{"invalid port", "the port must be a number from 1 to 65535; where the password holds / ? # @ or : they must be percent-encoded"},
	{"could not match", "the lists of hosts and of ports differ in length: give one port for all hosts or one for each"},
	{"sslmode is invalid", "sslmode must be disable, allow, prefer, require, verify-ca or verify-full"},
	{"unable to read CA file", "sslrootcert names a file that can't be read"},
	{"unable to add CA", "sslrootcert names a file without a PEM certificate"},
	{"system certificate pool", "sslrootcert=system: this system has no certificate store; install ca-certificates"},
	{"sslcertmode", "sslcertmode must be disable, allow or require"},
	{"sslpassword", "sslkey is encrypted: give sslpassword"},
	{"sslkey", "sslcert and sslkey must both name readable PEM files that belong together"},
	{"decrypt key", "sslkey can't be decrypted with sslpassword"},
	{"unable to read cert", "sslcert names a file that can't be read"},
	{"unable to load cert", "sslcert and sslkey must both name readable PEM files that belong together"},
	{"service", "service names no entry of a readable service file"},
	{"target_session_attrs", "target_session_attrs must be any, read-write, read-only, primary, standby or prefer-standby"},
	{"protocol_version", "min_protocol_version and max_protocol_version must be 3.0, 3.2 or latest, in that order"},
	{"channel_binding", "channel_binding must be disable, prefer or require"},
	{"auth", "require_auth must list authentication methods"},
	{"connect_timeout", "connect_timeout must be a whole number of seconds"},
	{"NUL byte", "the string holds a zero byte"},
}

func isURL(dsn string) bool {
	return strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://")
}
