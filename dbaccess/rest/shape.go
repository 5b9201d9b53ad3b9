package rest

import (
	"bytes"
	"net/http"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// shapeError is the error of a success whose body can't be the rows that were asked for: a
// gateway says "200" to much, and nothing but the body's own end tells that one
// without a length has broken off. It looks at both ends alone; whether what is between is JSON
// the decoder finds out. What a function returns may be anything.
func (x *exchange) shapeError() error {
	if !x.wantsRows() {
		return nil
	}
	begin, end := byte('['), byte(']')
	if x.query.Single {
		begin, end = '{', '}'
	}
	switch body := bytes.TrimSpace(x.body); {
	case len(body) == 0 || body[0] != begin:
		return x.foreignError()
	case len(body) == 1 || body[len(body)-1] != end:
		return &dbaccess.Error{Path: dbaccess.REST, Kind: dbaccess.ErrUnavailable, Advice: adviceBrokeOff}
	}
	return nil
}

const adviceBrokeOff = "the answer broke off before its end: the connection was closed, or its Content-Length is not that of its body"

// wantsRows says whether the answer must have a body, which is rows.
func (x *exchange) wantsRows() bool {
	switch {
	case x.request.Method == http.MethodHead, x.query.Op == query.OpCall:
		return false
	case x.query.Op.Writes():
		return x.query.Write != nil && x.query.Write.Return
	}
	return true
}
