package direct

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
)

// ConnectError makes the error that a [Backend] returns of one that pgx returned when
// it could not connect: its Kind and SQLState say what it is, its Advice what to do,
// and none of its text is the server's or the string's. It is for code that connects by
// itself with what [ParseDSN] explained, such as package doctor. directTLS says that the
// string has sslnegotiation=direct.
func ConnectError(err error, directTLS bool) *dbaccess.Error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		if known, ok := poolerFailure(pg); ok {
			if e, ok := errors.AsType[*dbaccess.Error](known); ok {
				return e
			}
		}
		return dbaccess.Error{
			Code: codeConnect, SQLState: pg.Code, HTTPStatus: 503, Kind: dbaccess.ErrUnavailable,
			Advice: "the server refused the connection: see its message",
		}.With(serverText(pg), pg)
	}
	todo, cause := networkAdvice(err, directTLS)
	return dbaccess.Error{Code: codeConnect, HTTPStatus: 503, Kind: dbaccess.ErrUnavailable, Advice: todo}.With(dbaccess.ServerText{}, cause)
}
