package middleware

import (
	"net/http"
	"reflect"

	"github.com/labstack/echo/v4"
)

// UnmatchedName is the name of all transactions whose request matches no route.
// Their paths, which are whatever strangers try, would make endless names.
const UnmatchedName = "unmatched route"

// transactionName returns the name by what is known about the route so far, and
// the route itself, "" when there is none.
func transactionName(c echo.Context, method string) (name, route string) {
	route = c.Path()
	if route == "" || isNotFound(c.Handler()) {
		return UnmatchedName, ""
	}
	return method + " " + route, route
}

// isNotFound says whether h is what Echo runs where no route matches, for which
// it has no other sign.
func isNotFound(h echo.HandlerFunc) bool {
	return reflect.ValueOf(h).Pointer() == reflect.ValueOf(echo.NotFoundHandler).Pointer()
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
