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
	"github.com/twinpath/twinpath/dbaccess/internal/advice"
)

// adviceFor says what to do about an error of the server, without its values.
func adviceFor(f failedCall, pg *pgconn.PgError) string {
	if pg.Code == "57014" && f.ownTimeout {
		return "the statement was ended by the caller's deadline, or by a shorter statement_timeout of the server"
	}
	if f.stage == stageRequest {
		return "direct.Config.PreRequest refused the call, or failed: see the server's message"
	}
	known := advice.Failure{
		Code: pg.Code, Message: pg.Message, Role: f.stage == stageSettings, Nested: pg.Code == "42P01" && !fromStatement(pg),
	}
	if f.call != nil {
		known.Query = f.call.Query
	}
	return advice.For(known)
}

// poolerTexts are what poolers and Postgres say when they refuse or end a
// connection. The code alone doesn't tell: PgBouncer uses 08P01 for all of them,
// Supavisor XX000.
// Sources: https://www.pgbouncer.org/config.html, supabase/supavisor lib/supavisor/errors.
var poolerTexts = []struct {
	contains  string
	saturated bool
	todo      string
}{
	{"max_client_conn", true, poolerFull},
	{"max client connections reached", true, poolerFull},
	{"max clients reached in session mode", true, "the pooler's session mode gives every client a connection of its own: use its transaction mode (Supavisor: port 6543)"},
	{"query_wait_timeout", true, poolerBusy},
	{"unable to check out", true, poolerBusy},

	{"no such database", false, noDatabase},
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
	noDatabase   = "the server, or the pooler, has no such database: check the DSN's database"
	postgresFull = "Postgres has no connection left for the database or the role: raise its limit, or put a pooler in front of it"
)

// poolerFailure makes the error for a refusal that is known by its text.
func poolerFailure(pg *pgconn.PgError) (error, bool) {
	message := strings.ToLower(pg.Message)
	if pg.Code == "08P01" && strings.HasPrefix(message, `database "`) && strings.HasSuffix(message, `" does not exist`) {
		return refusal(pg, false, noDatabase), true // Postgres' word, passed on by PgBouncer
	}
	for _, p := range poolerTexts {
		if !strings.Contains(message, p.contains) {
			continue
		}
		return refusal(pg, p.saturated, p.todo), true
	}
	// Postgres' own refusals have codes that tell, in whatever language.
	switch pg.Code {
	case "53300":
		return refusal(pg, true, postgresFull), true
	case "28P01", "28000":
		return refusal(pg, false, "check the DSN's user and password, and that the user may log in from here"), true
	case "3D000":
		return refusal(pg, false, noDatabase), true
	case "57P03":
		return refusal(pg, false, "the server is starting up or shutting down: try again"), true
	}
	return nil, false
}

func refusal(pg *pgconn.PgError, saturated bool, todo string) error {
	e := dbaccess.Error{Code: codeConnect, SQLState: pg.Code, HTTPStatus: 503, Kind: dbaccess.ErrUnavailable, Advice: todo}
	if saturated {
		e.Code, e.HTTPStatus, e.Kind = codeSaturated, 504, dbaccess.ErrSaturated
	}
	return e.With(serverText(pg), pg)
}

// networkAdvice says what is wrong with the way to the server, and returns the
// part of the error that names neither server nor user. pgx's own error also
// holds the password. directTLS says that the DSN has sslnegotiation=direct.
func networkAdvice(err error, directTLS bool) (string, error) {
	if strings.Contains(err.Error(), "server refused TLS connection") {
		return "the server has no TLS: add sslmode=disable to the DSN, if the network between may be trusted", nil
	}
	if strings.Contains(err.Error(), "ValidateConnect failed") {
		return "the server is not of the kind that target_session_attrs asks for: correct it, or leave it out, as a pooler chooses the server itself", nil
	}
	_, notTLS := errors.AsType[tls.RecordHeaderError](err)
	if directTLS && (notTLS || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		return "the server does not begin with TLS: sslnegotiation=direct needs Postgres 17, or a pooler that knows it; remove it from the DSN", nil
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
		if !strings.Contains(err.Error(), "dial error") {
			return "the server took the connection but did not answer within ConnectTimeout: check that the port is that of Postgres or its pooler, " +
				"and that the pooler can log in to the DSN's database", context.DeadlineExceeded
		}
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
