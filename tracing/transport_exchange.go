package tracing

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/internal/servertiming"
	"github.com/twinpath/twinpath/tracing/internal/spans"
)

// exchange is a request under way.
type exchange struct {
	transport            *transport
	ctx                  context.Context
	release              func()
	method, scheme, host string
	name                 string // of the path
	line                 httpTimeline

	status int
	header http.Header
	major  int // of the protocol

	mu   sync.Mutex
	stop func() bool // ends the watch over ctx
}

// answered waits for the end of the answer's body.
func (x *exchange) answered(resp *http.Response) {
	x.status, x.header, x.major = resp.StatusCode, resp.Header, resp.ProtoMajor
	if resp.StatusCode == http.StatusSwitchingProtocols {
		x.end(nil, -1) // what follows is another protocol's
		return
	}
	if resp.Body == nil || resp.Body == http.NoBody {
		x.end(nil, 0)
		return
	}
	body := onEnd(resp, x.end)
	resp.Body = body
	stop := context.AfterFunc(x.ctx, func() { body.over(x.ctx.Err()) })
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stop = stop
}

// end makes the span. size is that of the body, -1 when there was none.
func (x *exchange) end(err error, size int64) {
	x.mu.Lock()
	stop := x.stop // not set yet where the context has ended already
	x.mu.Unlock()
	if stop != nil {
		stop()
	}
	x.record(err, size, time.Now())
	if x.release != nil {
		x.release()
	}
}

func (x *exchange) record(err error, size int64, now time.Time) {
	phases, conn, repeated := x.line.phases(now)
	out := httpOutcome(x.status, err)
	span := spans.Span{
		Op: "http.client", Description: x.method + " " + x.scheme + "://" + x.host + x.name, Origin: "auto.http.twinpath",
		Status: out.status, Start: x.line.start, End: now,
		Data: x.attributes(size, conn, repeated, out),
	}
	for i := range phases {
		span.Data["http.phase."+phases[i].Name+"_ms"] = spans.Milliseconds(phases[i].Duration)
		if phases[i].Name == dbaccess.PhaseWait && x.header != nil {
			phases[i].Children = placed(phases[i], servertiming.Read(x.header, x.transport.release, phases[i].Duration))
			for _, c := range phases[i].Children {
				span.Data["http.phase.wait."+c.Name+"_ms"] = spans.Milliseconds(c.Duration)
			}
		}
	}
	if x.transport.detail.wants(conn == dbaccess.ConnNew, now.Sub(x.line.start)) {
		span.Children = phaseSpans("", phases, span.Origin)
	}
	spans.Record(x.ctx, span)
}

// placed makes phases of those that the server told.
func placed(wait dbaccess.Phase, told []servertiming.Phase) []dbaccess.Phase {
	out := make([]dbaccess.Phase, 0, len(told))
	for _, p := range told {
		out = append(out, dbaccess.Phase{Name: p.Name, Start: wait.Start.Add(p.Offset), Duration: p.Duration, Placed: true})
	}
	return out
}

func (x *exchange) attributes(size int64, conn dbaccess.ConnClass, repeated int, out httpResult) map[string]any {
	const fixed = 24
	m := make(map[string]any, fixed)
	m["http.request.method"] = x.method
	m["url.scheme"] = x.scheme
	m["url.template"] = x.name
	name, port := x.host, ""
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, ']') {
		name, port = name[:i], name[i+1:]
	}
	m["server.address"] = strings.Trim(name, "[]")
	if n, err := strconv.Atoi(port); err == nil {
		m["server.port"] = n
	}
	if x.transport.bound != nil {
		m["db.access_path"] = "rest"
	}
	if x.status != 0 {
		m["http.response.status_code"] = x.status
		m["network.protocol.version"] = strconv.Itoa(x.major)
	}
	if size >= 0 {
		m["http.response.body.size"] = size
	}
	if repeated > 0 {
		m["http.request.resend_count"] = repeated
	}
	if conn != dbaccess.ConnUnknown {
		m["http.connection"] = connText(conn)
	}
	if conn == dbaccess.ConnNew {
		m["cold"] = true
	}
	if out.errorType != "" {
		m["error.type"] = out.errorType
	}
	return m
}
