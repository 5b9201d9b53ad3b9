package rest

import (
	"errors"
	"net"
	"net/http"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// mayWrite says whether a query may change something. What a function does is
// known to the database alone.
func mayWrite(s *query.Spec) bool {
	return s.Op.Writes() || s.Op == query.OpCall && (s.Call == nil || !s.Call.ReadOnly)
}

// outcome adds to the error of a write what became of it, where the error doesn't
// mean that nothing was done.
func (x *exchange) outcome(err error) error {
	e, ok := err.(*dbaccess.Error)
	if !ok || !x.writes || !x.tried {
		return err
	}
	switch {
	case x.status == 0 && !x.sent(err):
	case x.status == 0, x.lost(e):
		e.OutcomeUnknown = true
		e.Advice = "no answer says what became of the write, so that it may have been done or not: look before you repeat it"
	case x.status < 300:
		e.Advice = "the write was done, but its answer could not be read: " + e.Advice
	}
	return e
}

// sent says whether the request may have reached the server.
func (x *exchange) sent(err error) bool {
	op, isOp := errors.AsType[*net.OpError](err)
	if _, isDNS := errors.AsType[*net.DNSError](err); isDNS || isOp && op.Op == "dial" {
		return false
	}
	if x.backend.own == nil {
		return true // another's transport need not tell
	}
	x.timeline.mu.Lock()
	defer x.timeline.mu.Unlock()
	return !x.timeline.got.IsZero()
}

// lost says whether the answer is that of a gateway, or a PostgREST, which has lost
// sight of the request.
func (x *exchange) lost(e *dbaccess.Error) bool {
	switch e.Code {
	case "PGRST001": // PostgREST lost its connection to Postgres
		return true
	case "":
	default:
		return false
	}
	switch s := x.status; {
	case s == http.StatusRequestTimeout, s == http.StatusBadGateway, s == http.StatusServiceUnavailable, s == http.StatusGatewayTimeout:
		return true
	case s >= 520 && s <= 530: // Cloudflare's
		return true
	case s < 300:
		return x.foreign
	}
	return false
}

// begun says whether anything of an answer has come. Another's transport need not
// tell.
func (x *exchange) begun() bool {
	x.timeline.mu.Lock()
	defer x.timeline.mu.Unlock()
	return !x.timeline.first.IsZero()
}
