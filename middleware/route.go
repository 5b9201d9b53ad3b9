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

// routeBook remembers which of Echo's routes are there for requests that match
// none. It is safe for concurrent use.
type routeBook struct {
	mu      sync.RWMutex
	missing map[routeKey]bool
}

type routeKey struct {
	router       *echo.Router
	method, path string
}

// maxRoutes bounds the book: an application may set a context's path itself.
const maxRoutes = 10_000

// nameOf returns the transaction's name by what is known about the route so far,
// and the route itself, "" when there is none.
func (b *routeBook) nameOf(c echo.Context, method string) (name, route string) {
	route = c.Path()
	if route == "" || isNotFound(c.Handler()) || b.isMissing(c.Echo(), c.Request(), route) {
		return UnmatchedName, ""
	}
	return method + " " + route, route
}

// isNotFound says whether h is what Echo runs where nothing at all matches.
func isNotFound(h echo.HandlerFunc) bool {
	return reflect.ValueOf(h).Pointer() == reflect.ValueOf(echo.NotFoundHandler).Pointer()
}

// isMissing says whether the request came to a handler for requests without a
// route: that of Echo.RouteNotFound, which every group with middleware has for
// all paths below its own. Echo tells only by its list of routes, which is read
// once for each route that requests come to. Routes have to be registered by
// then, as Echo demands anyway.
func (b *routeBook) isMissing(e *echo.Echo, r *http.Request, path string) bool {
	key := routeKey{router: e.Router(), method: r.Method, path: path}
	if own, ok := e.Routers()[r.Host]; ok {
		key.router = own
	}
	b.mu.RLock()
	missing, known := b.missing[key]
	b.mu.RUnlock()
	if known {
		return missing
	}
	missing = leadsNowhere(key)
	if methodName(r.Method) != r.Method {
		return missing // made up by the client, who may make up many
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.missing == nil {
		b.missing = make(map[routeKey]bool)
	}
	if len(b.missing) < maxRoutes {
		b.missing[key] = missing
	}
	return missing
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
