package site

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
)

// Headers that tell the home page how an answer came about.
const (
	headerPath   = "X-Access-Path"   // the path taken: rest or direct
	headerReason = "X-Access-Reason" // why: the router's reason
	headerCalls  = "X-Database-Calls"
	// The time of all calls, and of each of their phases, as Server-Timing writes them. That header itself
	// is middleware.ServerTiming's, which shows it to local browsers alone.
	headerTimes = "X-Database-Times"
)

// callLog adds up the database calls of one request.
type callLog struct {
	mu     sync.Mutex
	route  dbaccess.Routed
	calls  int
	total  time.Duration
	phases []dbaccess.Phase // by name, in the order of their first appearance
}

type callLogKey struct{}

// callObserver fills in the callLog of a call's request.
type callObserver struct{}

var _ dbaccess.Observer = callObserver{}

// CallObserver returns the observer that the site's DB needs in order to tell each answer's path and
// time in its headers.
func CallObserver() dbaccess.Observer { return callObserver{} }

func (callObserver) CallStart(ctx context.Context, _ dbaccess.CallStart) context.Context { return ctx }

func (callObserver) CallEnd(ctx context.Context, e dbaccess.CallEnd) {
	l, ok := ctx.Value(callLogKey{}).(*callLog)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.route = e.Route
	l.calls++
	l.total += e.Duration()
	for _, p := range e.Phases {
		l.add(p)
	}
}

func (l *callLog) add(p dbaccess.Phase) {
	for i := range l.phases {
		if l.phases[i].Name == p.Name {
			l.phases[i].Duration += p.Duration
			return
		}
	}
	l.phases = append(l.phases, dbaccess.Phase{Name: p.Name, Duration: p.Duration})
}

// logCalls is the middleware that puts the headers on each answer.
func logCalls(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		l := &callLog{}
		c.SetRequest(c.Request().WithContext(context.WithValue(c.Request().Context(), callLogKey{}, l)))
		c.Response().Before(func() { l.write(c.Response().Header()) })
		return next(c)
	}
}

func (l *callLog) write(h http.Header) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h.Set("Cache-Control", "no-store")
	if l.calls == 0 {
		return
	}
	h.Set(headerPath, string(l.route.Path))
	h.Set(headerReason, l.route.Reason)
	h.Set(headerCalls, fmt.Sprint(l.calls))
	var b strings.Builder
	fmt.Fprintf(&b, "db;dur=%s", millis(l.total))
	for _, p := range l.phases {
		fmt.Fprintf(&b, ", %s;dur=%s", p.Name, millis(p.Duration))
	}
	h.Set(headerTimes, b.String()) // phases' names are tokens as RFC 9110 has them
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.3f", float64(d)/float64(time.Millisecond))
}
