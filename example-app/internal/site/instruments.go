package site

import (
	"net/http"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/latency"
	"github.com/twinpath/twinpath/middleware"
)

// instruments are the middlewares of the API, in the order in which a request meets them. Those
// of package middleware are what an application of one's own would have.
func (s *Site) instruments() []echo.MiddlewareFunc {
	return []echo.MiddlewareFunc{
		logCalls, s.cookieBearer, pathHeader, s.ownHub,
		middleware.Sentry(),
		middleware.ErrorsWithConfig(middleware.ErrorsConfig{Status: statusOf}),
		middleware.Identity(s.cfg.Tokens),
		middleware.AccessPathWithConfig(middleware.AccessPathConfig{DB: s.cfg.DB, Allow: asksForPath}),
		middleware.ServerTiming(func(c echo.Context) bool { return latency.AllowLoopback(c.Request()) }),
	}
}

// ownHub sends the request's transaction to the site's own Sentry client.
func (s *Site) ownHub(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		c.SetRequest(r.WithContext(sentry.SetHubOnContext(r.Context(), s.cfg.Hub)))
		return next(c)
	}
}

// The switch of the demo: ?path=rest and ?path=direct. In production whoever may choose a path should
// be known, a member of the staff for example.
const paramPath = "path"

// asksForPath allows a request to choose its path when its address does.
func asksForPath(c echo.Context) bool { return c.QueryParams().Has(paramPath) }

// pathHeader turns ?path= into the header that middleware.AccessPath reads.
func pathHeader(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		r.Header.Del(middleware.DefaultAccessPathHeader)
		if asksForPath(c) {
			p := dbaccess.Path(c.QueryParam(paramPath))
			if !p.Valid() {
				return &Problem{Status: http.StatusBadRequest, Code: "bad_parameter", Message: "path must be rest or direct"}
			}
			r.Header.Set(middleware.DefaultAccessPathHeader, string(p))
		}
		return next(c)
	}
}
