package rest

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"strings"

	"github.com/twinpath/twinpath/dbaccess"
)

// maxGatewayText bounds what is kept of an answer that is not PostgREST's, in bytes.
const maxGatewayText = 512

// GatewayError is an answer that is not PostgREST's: that of a gateway before it, or of
// another server in its place. errors.As finds it in a call's error:
//
//	if g, ok := errors.AsType[*rest.GatewayError](err); ok { … g.Status … }
//
// Nothing is sent again for it. A read may be, where the call's error also is
// [dbaccess.ErrUnavailable]: that of status 429, 502, 503, 504 and 520 to 530, and of a success
// without rows. A write may not, before it is known what became of it.
type GatewayError struct {
	// Status is the answer's HTTP status. It may be that of a success.
	Status int

	contentType, text string
}

// ContentType is the media type of the answer without parameters, such as "text/html"; "" when
// it had none, or one that is malformed.
func (e *GatewayError) ContentType() string { return e.contentType }

// Text is the beginning of the answer, at most 512 bytes of valid UTF-8, or the message in it
// where it is a JSON object that has one. It may quote values: don't log it or show it to strangers.
func (e *GatewayError) Text() string { return e.text }

// Error tells the status alone.
func (e *GatewayError) Error() string {
	return fmt.Sprintf("rest: an answer of status %d that is not PostgREST's", e.Status)
}

// Format prints what Error says for every verb.
func (e *GatewayError) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, e.Error()) }

// foreignError is the error of an answer that is not PostgREST's.
func (x *exchange) foreignError() error {
	x.foreign = true
	e := dbaccess.Error{Path: dbaccess.REST, HTTPStatus: x.status, Kind: dbaccess.KindOf("", x.status)}
	switch s := x.status; {
	case s < 300:
		e.Kind, e.HTTPStatus = dbaccess.ErrUnavailable, 0
		e.Advice = "the answer is not JSON, so it is a gateway's or another server's: check that rest.Config.URL is PostgREST's root"
		if isJSON(x.header.Get("Content-Type")) {
			e.Advice = "the answer is not the rows that were asked for, so it is a gateway's or another server's: check that rest.Config.URL is PostgREST's root"
		}
	case s < 400:
		e.Advice = "the server redirects, and a token follows no redirect: set rest.Config.URL to where it leads"
	case s == 401 && x.authorization == "":
		e.Advice = "the gateway refused the request: check rest.Config.APIKey"
	case s == 401:
		e.Advice = "the gateway refused the request: check rest.Config.APIKey and the bearer token"
	case s == 403:
		e.Advice = "the gateway refused the request: look there for a rule that did"
	case s == 404:
		e.Advice = "nothing is there: check that rest.Config.URL is PostgREST's root, which on Supabase ends in /rest/v1"
	case s == 413, s == 414, s == 431:
		e.Kind = dbaccess.ErrInvalid
		e.Advice = "the request is too long for the gateway: shorten its lists"
	case s == 429:
		e.Kind = dbaccess.ErrUnavailable
		e.Advice = "the gateway limits the rate of requests"
	case e.Kind == dbaccess.ErrUnavailable:
		e.Advice = "the gateway could not get an answer from PostgREST: check that it runs"
	default:
		e.Advice = "the answer is not PostgREST's, so a gateway before it failed: look in its log"
	}
	media, _, err := mime.ParseMediaType(x.header.Get("Content-Type"))
	if err != nil {
		media = ""
	}
	g := &GatewayError{Status: x.status, contentType: media, text: foreignText(x.body)}
	return e.With(dbaccess.ServerText{Message: g.text}, g)
}

// foreignText is the beginning of a gateway's answer, as it may be kept: a bounded
// number of bytes, of valid UTF-8.
func foreignText(b []byte) string {
	var m struct {
		Message string `json:"message"`
	}
	b = b[:min(len(b), maxErrorBytes)]
	if json.Unmarshal(b, &m) == nil && m.Message != "" {
		b = []byte(m.Message)
	}
	return strings.ToValidUTF8(string(b[:min(len(b), maxGatewayText)]), "")
}
