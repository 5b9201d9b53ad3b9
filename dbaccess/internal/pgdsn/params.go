package pgdsn

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reader goes through the parameters that pgx would send at startup, or take for
// settings of its own, and decides what becomes of each.
type reader struct {
	dsn      string
	given    map[string]given
	route    Route
	settings Settings
	sent     map[string]string // the startup parameters that remain
	limitBy  string            // which parameter gave MaxConns
	problems []Problem
	notes    []Note
}

func (r *reader) notef(name, source, text string) {
	r.notes = append(r.notes, Note{Param: name, Source: source, Text: text})
}

func (r *reader) warn(name, source, text string) {
	r.notes = append(r.notes, Note{Param: name, Source: source, Text: text, Warning: true})
}

func (r *reader) refuse(name, source, advice string) {
	r.problems = append(r.problems, Problem{Param: r.printable(name), Source: source, Advice: advice})
}

// source says where a startup parameter comes from, "" for the string itself.
func (r *reader) source(name string) string { return r.given[name].source }

// param decides about one parameter.
func (r *reader) param(name, value, source string) {
	switch strings.ToLower(name) {
	case "application_name":
		if value != "" {
			r.sent["application_name"] = value
		}
	case "client_encoding":
		switch strings.ToLower(value) {
		case "utf8", "utf-8", "unicode":
			r.sent["client_encoding"] = "UTF8"
		default:
			r.refuse(name, source, "must be UTF8, which is what JSON and Go strings are")
		}
	case "options":
		r.options(value, source)
	case "statement_timeout":
		d, err := parseTimeout(value)
		if err != nil {
			r.refuse(name, source, err.Error())
			return
		}
		r.settings.StatementTimeout = d
		r.notef(name, source, "set for each call instead of the session, which a pooler shares")
	case "search_path":
		names, err := parseSearchPath(value)
		if err != nil {
			r.refuse(name, source, err.Error())
			return
		}
		r.settings.SearchPath = names
		r.notef(name, source, "set for each call instead of the session, which a pooler shares")
	case "connection_limit", "pool_max_conns":
		r.limit(name, value, source)
	case "pgbouncer":
		switch value {
		case "true", "1":
			r.settings.Pooler = true
			r.notef(name, source, "taken as the sign of a transaction pooler, and not sent")
		case "false", "0":
			r.notef(name, source, "not sent")
		default:
			r.refuse(name, source, "must be true or false")
		}
	case "default_query_exec_mode":
		r.execMode(name, value, source)
	case "statement_cache_capacity", "description_cache_capacity":
		if _, err := strconv.ParseInt(value, 10, 32); err != nil {
			r.refuse(name, source, "must be a number; better remove it: no statement is cached")
			return
		}
		r.notef(name, source, "without effect, no statement is cached")
	case "pool_min_conns", "pool_min_idle_conns":
		if n, err := strconv.ParseInt(value, 10, 32); err != nil || n < 0 {
			r.refuse(name, source, "must be a number, 0 or more")
		}
	case "pool_max_conn_lifetime", "pool_max_conn_lifetime_jitter", "pool_max_conn_idle_time", "pool_health_check_period", "pool_ping_timeout":
		if d, err := time.ParseDuration(value); err != nil || d < 0 || d == 0 && name == "pool_health_check_period" {
			r.refuse(name, source, "must be a duration with its unit, such as 30s or 5m")
		}
	default:
		r.refuse(name, source, adviceFor(strings.ToLower(name)))
	}
}

func (r *reader) limit(name, value, source string) {
	n, err := strconv.ParseInt(value, 10, 32)
	switch {
	case err != nil || n < 1:
		r.refuse(name, source, "must be a number, 1 or more")
	case r.limitBy != "" && r.settings.MaxConns != int32(n):
		r.refuse(name, source, "contradicts "+r.limitBy+": give one of them")
	default:
		r.settings.MaxConns, r.limitBy = int32(n), name
		if name != "pool_max_conns" {
			r.notef(name, source, "taken as the size of the pool (MaxConns), and not sent")
		}
	}
}

func (r *reader) execMode(name, value, source string) {
	switch value {
	case "exec":
	case "describe_exec":
		r.refuse(name, source, "describe_exec returns other callers' rows behind a transaction pooler: remove it")
	case "cache_statement", "cache_describe", "simple_protocol":
		r.notef(name, source, "without effect, statements are always sent the way of exec")
	default:
		r.refuse(name, source, "must be exec; better remove it")
	}
}

// options takes the parameter "options" apart and decides about each setting as
// if it had been given by itself.
func (r *reader) options(value, source string) {
	if source == "" {
		source = "options"
	}
	opts, ok := parseOptions(value)
	if !ok {
		r.refuse("options", source, "must be a list of -c name=value")
		return
	}
	for _, o := range opts {
		switch name := strings.ToLower(o.name); name {
		case "application_name", "client_encoding", "statement_timeout", "search_path":
			r.param(name, o.value, source)
		case "reference":
			r.refuse(name, source, "most poolers refuse options: name the tenant in the user instead, as role.tenant")
		case "endpoint", "project":
			r.refuse(name, source, "Neon finds the endpoint by the host's name, which TLS carries: remove it")
		default:
			r.refuse(o.name, source, adviceFor(name))
		}
	}
}

// adviceFor says what to do about a parameter that is refused.
func adviceFor(name string) string {
	for _, a := range refused {
		if slices.Contains(a.names, name) {
			return a.advice
		}
	}
	return "poolers refuse startup parameters that they don't know: remove it, or set it on the login role with ALTER ROLE … SET"
}

// printable returns the parameter's name if it is sure not to be a piece of the
// password: a password that is not encoded or quoted as it has to be can look
// like parameters. Names that are known are always printed.
func (r *reader) printable(name string) string {
	lower := strings.ToLower(name)
	for _, a := range refused {
		if slices.Contains(a.names, lower) {
			return name
		}
	}
	if slices.Contains(translated, lower) {
		return name
	}
	if isURL(r.dsn) {
		if _, query, _ := strings.Cut(r.dsn, "?"); !strings.Contains(query, "@") && isPlainName(name) {
			return name
		}
	}
	return fmt.Sprintf("a parameter that is not known here, whose name (%d bytes) may be part of the password", len(name))
}

func isPlainName(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && (s[i] < '0' || s[i] > '9') && s[i] != '_' && s[i] != '.' {
			return false
		}
	}
	return s != "" && len(s) < 64
}

var translated = []string{
	"application_name", "client_encoding", "options", "statement_timeout", "search_path", "connection_limit",
	"pool_max_conns", "pgbouncer", "default_query_exec_mode", "statement_cache_capacity", "description_cache_capacity",
	"pool_min_conns", "pool_min_idle_conns", "pool_max_conn_lifetime", "pool_max_conn_lifetime_jitter",
	"pool_max_conn_idle_time", "pool_health_check_period", "pool_ping_timeout", "reference", "endpoint", "project",
	"host", "database", "user", "sslmode", "sslnegotiation", "sslsni", "channel_binding",
}

var refused = []struct {
	names  []string
	advice string
}{
	{
		[]string{"timezone", "datestyle", "intervalstyle", "extra_float_digits", "bytea_output", "xmlbinary", "lc_monetary", "lc_numeric", "lc_time"},
		"it would change the JSON of values on this path alone: remove it",
	},
	{
		[]string{"schema", "currentschema"},
		"it is another driver's word for search_path: use that, or direct.Config.Schema",
	},
	{
		[]string{"role", "session_authorization", "row_security"},
		"every call runs as its identity's role: remove it",
	},
	{
		[]string{
			"lock_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout", "transaction_timeout",
			"default_transaction_isolation", "default_transaction_read_only", "default_transaction_deferrable",
			"synchronous_commit", "work_mem", "jit", "lc_messages", "client_min_messages", "log_statement",
			"standard_conforming_strings", "plan_cache_mode", "geqo", "transform_null_equals",
		},
		"poolers refuse it at startup: set it on the login role, ALTER ROLE … SET",
	},
	{[]string{"replication"}, "a replication connection can't run queries: remove it"},
	{[]string{"hostaddr"}, "pgx has no such setting: put the address into host"},
	{[]string{"fallback_application_name"}, "pgx has no such setting: use application_name"},
	{
		[]string{
			"keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
			"gssencmode", "gsslib", "gssdelegation", "sslcompression", "sslcrl", "sslcrldir", "requiressl", "ssl",
			"ssl_min_protocol_version", "ssl_max_protocol_version", "requirepeer", "load_balance_hosts",
		},
		"pgx has no such setting and would send it to the server: remove it",
	},
	{
		[]string{
			"pool_timeout", "socket_timeout", "sslaccept", "sslidentity", "preparethreshold", "prepare_threshold",
			"binary_parameters", "statement_cache_mode", "statement_cache_size", "prepared_statements",
			"prefer_simple_protocol", "uselibpqcompat", "workaround", "supa", "pool_size", "max_connections",
		},
		"it is another driver's setting and would be sent to the server: remove it",
	},
}
