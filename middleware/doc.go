// Package middleware connects an Echo v4 API to the rest of this module: a
// Sentry transaction for each request, the caller's identity for the database,
// and one access path for all calls of a request.
//
//	e := echo.New()
//	e.Use(middleware.Sentry())
//	e.Use(middleware.Identity(verifier)) // for example from auth/jwt
//	e.Use(middleware.AccessPath(db))
//
// Each is useful alone, and their order does not matter. All of them work by
// the request's context: handlers pass c.Request().Context() on, and whatever
// gets it (the facade, pgxtrace, sentry.CaptureException through
// sentry.GetHubFromContext) finds what it needs there.
//
// None of them writes a response or calls the error handler. A handler's error
// is returned as it is.
//
// Each comes in Echo's three forms: Sentry, SentryWithConfig, which panics when
// the config is wrong, and SentryConfig.ToMiddleware, which returns the error.
package middleware

import "github.com/labstack/echo/v4"

// Skipper says whether a request passes by a middleware untouched.
type Skipper func(c echo.Context) bool

func (s Skipper) skips(c echo.Context) bool { return s != nil && s(c) }

// must returns the middleware, or panics with the config's error.
func must(mw echo.MiddlewareFunc, err error) echo.MiddlewareFunc {
	if err != nil {
		panic(err)
	}
	return mw
}
