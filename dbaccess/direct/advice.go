package direct

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// adviceFor says what to do about an error of the server, without its values.
func adviceFor(f failedCall, pg *pgconn.PgError) string {
	if f.stage == stageSettings {
		switch pg.Code {
		case "22023":
			if f.call != nil && f.call.Query.TimeZone != "" {
				return "the query's time zone is unknown to the server, or the identity's role does not exist in this database"
			}
			return "the identity's role does not exist in this database: create it, or correct the token's claim"
		case "42501":
			return "the pool's login role may not act as the identity's role: GRANT the latter to the former"
		}
	}
	switch pg.Code {
	case "22P02", "22007", "22008", "22003":
		if f.call != nil && f.call.Query.Op != query.OpSelect {
			return "a value does not fit the type of its column or argument"
		}
		return "a filter's value does not fit its column's type"
	case "25006":
		return "reads, and calls of functions that are declared stable or immutable, run in read-only transactions on both paths, and this one writes: " +
			"look at the functions that it calls"
	case "40001", "40P01":
		return "it collided with another transaction: try again"
	case "42501":
		return "the identity's role lacks a privilege: GRANT it, if the role should have it"
	case "42703":
		return "the query names a column that the table doesn't have: check its spelling, case included"
	case "42P01":
		if fromStatement(pg) {
			return "there is no such table or view in the schema: check its spelling, case included"
		}
		return "a view or function reads a table that doesn't exist"
	case "42883":
		return "no operator or function fits the types: check the filter against its column's type"
	case "57014":
		if f.ownTimeout {
			return "the statement was ended by the caller's deadline, or by a shorter statement_timeout of the server"
		}
		return "the statement ran into the server's statement_timeout, or was cancelled"
	case "3F000":
		return "the schema doesn't exist"
	}
	return ""
}

// schemaAdvice says what to do about what the schema lacks.
func schemaAdvice(code string) string {
	switch code {
	case catalog.CodeAmbiguousRelationship:
		return "several relationships lead there: add a hint, the foreign key's name, to the embed"
	case catalog.CodeAmbiguousFunction:
		return "several functions take these arguments: rename one, or an argument of one"
	case catalog.CodeNoRelationship:
		return "no foreign key relates the two: check the embed's name and hint"
	case catalog.CodeNoFunction:
		return "no function takes these arguments: check its name and theirs"
	}
	return "check the query's names against the schema, case included"
}

// poolerTexts are what poolers and Postgres say when they refuse or end a
// connection. The code alone doesn't tell: PgBouncer uses 08P01 for all of them,
// Supavisor XX000.
// Sources: https://www.pgbouncer.org/config.html, supabase/supavisor lib/supavisor/errors.
var poolerTexts = []struct {
	contains  string
	saturated bool
	advice    string
}{
	{"max_client_conn", true, poolerFull},
	{"max client connections reached", true, poolerFull},
	{"max clients reached in session mode", true, "the pooler's session mode gives every client a connection of its own: use its transaction mode (Supavisor: port 6543)"},
	{"query_wait_timeout", true, poolerBusy},
	{"unable to check out", true, poolerBusy},

	{"no such database", false, "the pooler doesn't know the database: check the DSN's database"},
	{"tenant or user not found", false, "the pooler doesn't know the user: on Supabase it is role.project, on the project's own pooler host"},
	{"tenant/user", false, "the pooler doesn't know the user: on Supabase it is role.project, on the project's own pooler host"},
	{"no tenant identifier", false, "the pooler can't tell the project: write the DSN's user as role.project"},
	{"authentication failed", false, "check the DSN's user and password"},
	{"no such user", false, "check the DSN's user"},
	{"ssl required", false, "the server wants TLS: add sslmode=require to the DSN"},
	{"unsupported startup parameter", false, "the pooler refuses a startup parameter: remove it from the DSN"},
	{"server login has been failing", false, "the pooler can't log in to Postgres: is it up, and does the pooler have its password?"},
	{"server_login_retry", false, "the pooler can't log in to Postgres: is it up, and does the pooler have its password?"},
	{"ecircuitbreaker", false, "the pooler blocks this address for a while after failed logins: correct the DSN, then wait"},
	{"pooler is shut", false, "the pooler is shutting down: try again"},
	{"client_idle_timeout", false, "the pooler had closed the idle connection: try again"},
}

const (
	poolerFull   = "the pooler has no place for another client: instances × MaxConns must stay below its limit"
	poolerBusy   = "the pooler had no server connection for the call in time: its pool is too small for the load, or calls are too long"
	postgresFull = "Postgres has no connection left for the database or the role: raise its limit, or put a pooler in front of it"
)

// poolerFailure makes the error for a refusal that is known by its text.
func poolerFailure(pg *pgconn.PgError) (error, bool) {
	message := strings.ToLower(pg.Message)
	for _, p := range poolerTexts {
		if !strings.Contains(message, p.contains) {
			continue
		}
		return refusal(pg, p.saturated, p.advice), true
	}
	// Postgres' own refusals have codes that tell, in whatever language.
	switch pg.Code {
	case "53300":
		return refusal(pg, true, postgresFull), true
	case "28P01", "28000":
		return refusal(pg, false, "check the DSN's user and password, and that the user may log in from here"), true
	case "3D000":
		return refusal(pg, false, "the server has no such database: check the DSN's database"), true
	case "57P03":
		return refusal(pg, false, "the server is starting up or shutting down: try again"), true
	}
	return nil, false
}

func refusal(pg *pgconn.PgError, saturated bool, advice string) error {
	e := dbaccess.Error{Code: codeConnect, SQLState: pg.Code, HTTPStatus: 503, Kind: dbaccess.ErrUnavailable, Advice: advice}
	if saturated {
		e.Code, e.HTTPStatus, e.Kind = codeSaturated, 504, dbaccess.ErrSaturated
	}
	return e.With(serverText(pg), pg)
}

// networkAdvice says what is wrong with the way to the server, and returns the
// part of the error that names neither server nor user. pgx's own error also
// holds the password.
func networkAdvice(err error) (string, error) {
	if strings.Contains(err.Error(), "server refused TLS connection") {
		return "the server has no TLS: add sslmode=disable to the DSN, if the network between may be trusted", nil
	}
	if cert, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the server's certificate is not trusted: check sslrootcert and the host's name in the DSN", cert.Err
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return "the DSN's host has no address: check its spelling", nil
		}
		return "the DSN's host could not be looked up", nil
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		switch errno {
		case syscall.ECONNREFUSED:
			return "nobody listens at the DSN's host and port: is the pooler up?", errno
		case syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EADDRNOTAVAIL:
			return "there is no route to the DSN's host: it may have an IPv6 address alone, which many containers can't reach; use the pooler's host", errno
		case syscall.ENOENT:
			return "the socket that the DSN's host names doesn't exist: is the server up?", errno
		}
		return "the way to the server is broken", errno
	}
	if isContext(err) || pgconn.Timeout(err) || isTimeout(err) {
		return "the server did not answer within ConnectTimeout: check host, port and firewall", context.DeadlineExceeded
	}
	for _, eof := range []error{io.ErrUnexpectedEOF, io.EOF} {
		if errors.Is(err, eof) {
			return "the server closed the connection: is it up, and is the port that of Postgres or its pooler?", eof
		}
	}
	return "the connection could not be made: check the DSN", nil
}

func isTimeout(err error) bool {
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}
