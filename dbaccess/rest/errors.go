package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/advice"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// Codes of PostgREST that are treated apart.
// Source: https://docs.postgrest.org/en/stable/references/errors.html
const (
	codeNotSingular = "PGRST116"
	codeRange       = "PGRST103"
	codeSchema      = "PGRST106"
	statusRange     = 416
)

// statusError is the error of an answer whose status is 300 or more.
func (x *exchange) statusError() error {
	e := dbaccess.Error{Path: dbaccess.REST, HTTPStatus: x.status}
	told := proxyStatusCode(x.header.Values("Proxy-Status"))
	body, isPostgREST := parseErrorBody(x.body, told)
	switch {
	case isPostgREST:
		e.Code = body.Code
	case told != "":
		e.Code = told // HEAD
	case x.status == statusRange:
		e.Code = codeRange // releases 13.0.8 to 14.1 cut the body off
	}
	if e.Code == "" {
		if x.header.Get("Content-Range") != "" && isJSON(x.header.Get("Content-Type")) {
			return chosenError(x.status)
		}
		return x.foreignError()
	}
	if isSQLState(e.Code) {
		e.SQLState = e.Code
	}
	e.Kind = dbaccess.KindOf(e.Code, x.status)
	if e.Code == codeNotSingular {
		e.Kind = singularKind(body.Details)
	}
	e.Advice = adviceFor(e.Code, body.Message, x.query)
	return e.With(dbaccess.ServerText{Message: body.Message, Detail: text(body.Details), Hint: text(body.Hint)}, nil)
}

// schemaError is the error of a schema whose name no header can carry: it is none
// that PostgREST could expose to anybody.
func schemaError() error {
	return &dbaccess.Error{
		Path: dbaccess.REST, Code: codeSchema, HTTPStatus: 406, Kind: dbaccess.KindOf(codeSchema, 406),
		Advice: "the name of the query's schema has a control character, so that PostgREST can't expose it",
	}
}

// chosenError is the error of an answer whose status the database has set itself
// (response.status): its body holds rows, which no gateway's does.
func chosenError(status int) error {
	return dbaccess.Error{
		Path: dbaccess.REST, HTTPStatus: status, Kind: dbaccess.KindOf("", status),
		Advice: "a function or trigger chose the status, by setting response.status",
	}.With(dbaccess.ServerText{}, nil)
}

// ownAdvice is what to do about codes that say something about PostgREST itself.
var ownAdvice = map[string]string{
	"PGRST000": "PostgREST can't connect to Postgres: check its db-uri and that Postgres runs",
	"PGRST001": "PostgREST lost its connection to Postgres",
	"PGRST002": "PostgREST has not read the schema yet: it starts, or can't connect to Postgres",
	"PGRST003": "PostgREST's pool was full: raise its db-pool, or send it less",
}

// adviceFor says what to do about an error of PostgREST's, or one that it passes on.
func adviceFor(code, message string, q *query.Spec) string {
	if text, ok := ownAdvice[code]; ok {
		return text
	}
	text := advice.For(advice.Failure{Code: code, Message: message, Query: q})
	if advice.IsSchemaCache(code) {
		text += advice.StaleCache
	}
	return text
}

// errorBody is PostgREST's error. Details and hint are text, null or, for some
// codes, JSON.
type errorBody struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details"`
	Hint    json.RawMessage `json:"hint"`
}

// parseErrorBody reads an error and says whether it is PostgREST's: gateways
// write similar ones, without a code or with one of their own. A code that a
// function of the application raised may have any form and is known by the
// header, told.
func parseErrorBody(b []byte, told string) (errorBody, bool) {
	var e errorBody
	if json.Unmarshal(b, &e) != nil {
		return errorBody{}, false
	}
	if !isSQLState(e.Code) && !isOwnCode(e.Code) && (told == "" || e.Code != told) {
		return errorBody{}, false
	}
	return e, true
}

// isSQLState says whether s has the form of a SQLSTATE.
func isSQLState(s string) bool { return len(s) == 5 && isCode(s) }

// isOwnCode says whether s has the form of PostgREST's codes.
func isOwnCode(s string) bool { return len(s) == 8 && strings.HasPrefix(s, "PGRST") && isCode(s) }

// isCode says whether s is short and plain. It keeps prose out of error texts.
func isCode(s string) bool {
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && (s[i] < 'A' || s[i] > 'Z') {
			return false
		}
	}
	return s != "" && len(s) <= 16
}

// text returns a JSON string's content, "" for null, and other JSON as it is.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return ""
	}
	if raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// singularKind tells the two cases of PGRST116 apart by its details, "The result
// contains N rows". It returns nil when there are none, as for HEAD.
func singularKind(details json.RawMessage) error {
	for word := range strings.FieldsSeq(text(details)) {
		if n, err := strconv.ParseUint(word, 10, 64); err == nil {
			if n == 0 {
				return dbaccess.ErrNoRows
			}
			return dbaccess.ErrMultipleRows
		}
	}
	return nil
}

// proxyStatusCode finds PostgREST's code in a Proxy-Status header, the only
// place that has it where there is no body: `PostgREST; error=42501`.
func proxyStatusCode(headers []string) string {
	for _, h := range headers {
		for member := range strings.SplitSeq(h, ",") {
			name, params, _ := strings.Cut(member, ";")
			if strings.TrimSpace(name) != "PostgREST" {
				continue
			}
			for p := range strings.SplitSeq(params, ";") {
				if code, ok := strings.CutPrefix(strings.TrimSpace(p), "error="); ok && isCode(code) {
					return code
				}
			}
		}
	}
	return ""
}

// transportError is the error of a request that was not, or not wholly,
// answered.
func (x *exchange) transportError(err error) error {
	e := dbaccess.Error{Path: dbaccess.REST}
	if ctxErr := x.ctx.Err(); ctxErr != nil {
		e.Kind = ctxErr
		if errors.Is(ctxErr, context.DeadlineExceeded) {
			e.Kind = dbaccess.ErrTimeout
			e.Advice = "the context's deadline passed before the answer came"
			if x.bounded {
				e.Advice = "the answer took longer than rest.Config.Timeout, which bounds calls whose context has no deadline"
			}
		}
		if cause := context.Cause(x.ctx); cause != ctxErr {
			ctxErr = fmt.Errorf("%w: %w", ctxErr, cause)
		}
		return e.With(dbaccess.ServerText{}, ctxErr)
	}
	e.Kind = dbaccess.ErrUnavailable
	err = withoutURL(err)
	dns, isDNS := errors.AsType[*net.DNSError](err)
	op, isOp := errors.AsType[*net.OpError](err)
	switch {
	case isDNS && dns.IsNotFound:
		e.Advice = "the host of rest.Config.URL is not known: check its spelling"
	case isDNS:
		e.Advice = "the host of rest.Config.URL could not be resolved"
	case isOp && op.Op == "dial":
		e.Advice = "no connection to rest.Config.URL: check host and port, and that PostgREST runs"
	case x.status != 0:
		e.Advice = adviceBrokeOff
	case x.begun():
		e.Advice = "the answer broke off in its header, or the header is not HTTP's: check what is between here and PostgREST"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Advice = "the server closed the connection without an answer"
	default:
		e.Advice = "the request failed before its answer was complete"
	}
	return e.With(dbaccess.ServerText{}, err)
}

// withoutURL takes errors that print the URL off err.
func withoutURL(err error) error {
	for {
		ue, ok := errors.AsType[*url.Error](err)
		if !ok || ue.Err == nil {
			return err
		}
		err = ue.Err
	}
}

// compileError is the error of a query that no request can be made of.
func compileError(err error) error {
	e := dbaccess.Error{Path: dbaccess.REST, Advice: err.Error()}
	if _, ok := errors.AsType[*query.UnsupportedError](err); !ok {
		e.Kind = dbaccess.ErrInvalid
	}
	return e.With(dbaccess.ServerText{}, err)
}

// clientError is an error of postgrest-go's own.
func clientError(err error) error {
	e := dbaccess.Error{Path: dbaccess.REST, Kind: dbaccess.ErrUnavailable, Advice: "postgrest-go did not send the request"}
	return e.With(dbaccess.ServerText{}, withoutURL(err))
}

func closedError() error {
	return &dbaccess.Error{Path: dbaccess.REST, Kind: dbaccess.ErrClosed}
}
