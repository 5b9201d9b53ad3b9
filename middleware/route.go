package middleware

import (
	"net/http"
	"reflect"
	"sync"

	"github.com/labstack/echo/v4"
)

// UnmatchedName is the name of all transactions whose request matches no route.
// Their paths, which are whatever strangers try, would make endless names.
const UnmatchedName = "unmatched route"

// routeBook remembers the names that Echo's routes give, and which of the routes
// are there for requests that match none. It is safe for concurrent use.
type routeBook struct {
	mu    sync.RWMutex
	names map[routeKey]routeName
}

type routeKey struct {
	router       *echo.Router
	method, path string
}

type routeName struct {
	name  string // the transaction's
	route string // "" when there is none
}

// maxRoutes bounds the book: an application may set a context's path itself.
const maxRoutes = 10_000

// nameOf returns the transaction's name by what is known about the route so far,
// and the route itself, "" when there is none.
func (b *routeBook) nameOf(c echo.Context, method string) (name, route string) {
	path := c.Path()
	if path == "" || isNotFound(c.Handler()) {
		return UnmatchedName, ""
	}
	e, r := c.Echo(), c.Request()
	key := routeKey{router: e.Router(), method: r.Method, path: path}
	if own, ok := e.Routers()[r.Host]; ok {
		key.router = own
	}
	b.mu.RLock()
	n, known := b.names[key]
	b.mu.RUnlock()
	if !known {
		n = b.add(key, method)
	}
	return n.name, n.route
}

// add names a route. Echo tells only by its list of routes whether it is one for
// requests without a route: that of Echo.RouteNotFound, which every group with
// middleware has for all paths below its own. The list is read once for each
// route that requests come to. Routes have to be registered by then, as Echo
// demands anyway.
func (b *routeBook) add(key routeKey, method string) routeName {
	n := routeName{name: method + " " + key.path, route: key.path}
	if leadsNowhere(key) {
		n = routeName{name: UnmatchedName}
	}
	if key.method != method {
		return n // made up by the client, who may make up many
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.names == nil {
		b.names = make(map[routeKey]routeName)
	}
	if len(b.names) < maxRoutes {
		b.names[key] = n
	}
	return n
}

// isNotFound says whether h is what Echo runs where nothing at all matches.
func isNotFound(h echo.HandlerFunc) bool {
	return reflect.ValueOf(h).Pointer() == reflect.ValueOf(echo.NotFoundHandler).Pointer()
}

// leadsNowhere says whether a path has a handler for missing routes and none for
// the method.
func leadsNowhere(key routeKey) bool {
	nowhere := false
	for _, r := range key.router.Routes() {
		switch {
		case r.Path != key.path:
		case r.Method == key.method:
			return false
		case r.Method == echo.RouteNotFound:
			nowhere = true
		}
	}
	return nowhere
}

// methodName returns a known method, and for others what OpenTelemetry's
// conventions have for them.
func methodName(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace, echo.PROPFIND, echo.REPORT:
		return m
	}
	return "_OTHER"
}
