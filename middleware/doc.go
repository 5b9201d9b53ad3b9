// Package middleware connects an Echo v4 API to the rest of this module: a
// Sentry transaction for each request, the caller's identity for the database,
// one access path for all calls of a request, and answers for calls that fail.
//
//	e := echo.New()
//	e.Use(echomiddleware.Recover())      // Echo's own, in front: see Sentry
//	e.Use(middleware.Sentry())
//	e.Use(middleware.Errors())           // handlers return database errors as they are
//	e.Use(middleware.Identity(verifier)) // for example from auth/jwt
//	e.Use(middleware.AccessPath(db))
//	e.Use(middleware.ServerTiming(isStaff)) // shows staff how long the calls took; wants CallTimes among the observers
//
// Each is useful alone, and their order among themselves does not matter. They
// work by the request's context: handlers pass c.Request().Context() on, and
// whatever gets it (the facade, pgxtrace, sentry.CaptureException through
// sentry.GetHubFromContext) finds what it needs there. For calls to other
// services, tracing.Headers(ctx) has the headers that continue the trace.
//
// None of them writes a response or calls the error handler. A handler's error
// is returned as it is, but for those of database calls by Errors.
//
// Each comes in Echo's three forms: Sentry, SentryWithConfig, which panics when
// the config is wrong, and SentryConfig.ToMiddleware, which returns the error.
package middleware

import "github.com/labstack/echo/v4"

// must returns the middleware, or panics with the config's error.
func must(mw echo.MiddlewareFunc, err error) echo.MiddlewareFunc {
	if err != nil {
		panic(err)
	}
	return mw
}
