package measure

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"unicode"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/latency"
)

// StandInHeader is the header that has the value StandIn in a probe's answer where a stand-in answered in
// PostgREST's place.
const (
	StandInHeader = "X-Twinpath-Postgrest"
	StandIn       = "stand-in"
)

const (
	maxAnswer   = 256 << 10 // bytes of a probe's answer; a real one has a few thousand
	maxText     = 200       // bytes of somebody else's text that are shown
	maxMillis   = 1e9       // eleven days
	maxNewConns = 1e6
)

const adviceHidden = "answered 404: check where the app has its probes (--url is what /latency/{mode} comes below); if there, they answer who asks " +
	"from the same machine alone (latency.AllowLoopback), and nobody through a proxy; run measure there, or give the app an Authorize function and MEASURE_AUTHORIZATION"

// readAnswer takes what a probe answered into the sample.
func (s *Sample) readAnswer(resp *http.Response) {
	s.Status = resp.StatusCode
	s.StandIn = resp.Header.Get(StandInHeader) == StandIn
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		s.Err = &Failure{NoAnswer, "the answer broke off"}
	case len(body) > maxAnswer:
		s.Err = &Failure{NotAProbe, fmt.Sprintf("the answer is larger than %d bytes: this is no probe", maxAnswer)}
	default:
		s.Err = s.parse(resp.StatusCode, body)
	}
}

// parse reads the body. encoding/json bounds its nesting.
func (s *Sample) parse(status int, body []byte) *Failure {
	if status >= 300 && status < 400 {
		return &Failure{NotAProbe, fmt.Sprintf("status %d: redirects are not followed, give the address they lead to", status)}
	}
	var res latency.ProbeResult
	err := json.Unmarshal(body, &res)
	if err != nil || res.Mode == "" || res.Queries == nil {
		return notAProbe(status, body, err, &res)
	}
	if !s.take(&res) {
		return &Failure{NotAProbe, "the answer has numbers that no probe gives"}
	}
	if res.Error != nil || status != http.StatusOK {
		text := "status " + fmt.Sprint(status)
		if res.Error != nil {
			text = plain(res.Error.Code) + ": " + plain(res.Error.Message)
		}
		return &Failure{Failed, text}
	}
	return nil
}

// notAProbe says what an answer is that isn't a probe's result.
func notAProbe(status int, body []byte, err error, res *latency.ProbeResult) *Failure {
	code, message := "", ""
	if err == nil && res.Error != nil {
		code, message = plain(res.Error.Code), plain(res.Error.Message)
	}
	switch {
	case status == http.StatusTooManyRequests:
		return &Failure{Busy, "status 429: more probes at once than the app lets run (latency.ProbesConfig.MaxConcurrent)"}
	case status == http.StatusNotFound && code == "not_found":
		return &Failure{UnknownMode, "the app has no such mode: " + message}
	case status == http.StatusNotFound:
		return &Failure{NotAProbe, adviceHidden}
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return &Failure{NotAProbe, fmt.Sprintf("status %d: set MEASURE_AUTHORIZATION to what the app wants as Authorization header", status)}
	case status != http.StatusOK:
		return &Failure{NoAnswer, fmt.Sprintf("status %d, and no probe's answer", status)}
	case looksLikeHTML(body):
		return &Failure{NotAProbe, "answered with a web page: give the address of a probe, such as http://127.0.0.1:8080/api/debug/latency/rest"}
	}
	return &Failure{NotAProbe, "the answer is not a probe's JSON: give the address of a probe, such as http://127.0.0.1:8080/api/debug/latency/rest"}
}

func looksLikeHTML(body []byte) bool {
	return strings.HasPrefix(strings.TrimSpace(string(body[:min(len(body), maxText)])), "<")
}

// take copies the numbers and says whether all of them can be.
func (s *Sample) take(res *latency.ProbeResult) bool {
	handshakes := 0.0
	for i := range res.Queries {
		handshakes += handshakesOf(&res.Queries[i])
	}
	l := &res.Layers
	numbers := []float64{res.ServerTotal, res.ClientCreate, res.ClientClose, res.ProcessAge, handshakes, l.App, l.Pool, l.Network, l.PostgREST, l.Database}
	if res.Idle != nil {
		numbers = append(numbers, *res.Idle)
	}
	for _, n := range numbers {
		if math.IsNaN(n) || math.Abs(n) > maxMillis {
			return false
		}
	}
	if res.ServerTotal < 0 || res.NewConnections < 0 || res.NewConnections > maxNewConns {
		return false
	}
	s.Server, s.ClientCreate, s.ClientClose = res.ServerTotal, res.ClientCreate, res.ClientClose
	s.Layers, s.Handshakes, s.NewConnections = res.Layers, handshakes, res.NewConnections
	s.Cold, s.Idle, s.ProcessAge = res.Cold, res.Idle, res.ProcessAge
	return true
}

// handshakesOf is what a query spent on making a connection, in ms. On direct that is a part of acquiring
// one, and all of it with an app's own pool, which does not tell; on rest its steps stand by
// themselves.
func handshakesOf(q *latency.QueryResult) float64 {
	if q.Conn != dbaccess.ConnNew {
		return 0
	}
	if d, ok := q.Phases[dbaccess.PhaseAcquire+"/"+dbaccess.PhaseConnect]; ok {
		return d
	}
	return q.Phases[dbaccess.PhaseAcquire] + q.Phases[dbaccess.PhaseDNS] + q.Phases[dbaccess.PhaseConnect] + q.Phases[dbaccess.PhaseTLS]
}

// plain makes somebody else's text fit for a terminal.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s[:min(len(s), maxText)])
	return strings.TrimSpace(s)
}
