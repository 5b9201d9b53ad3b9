// Package site is the demo's web site: nine API endpoints that read the stock market through
// dbaccess, two that change a user's watchlists, a home page whose nine widgets show them, and a page that draws the requests' traces.
//
// A handler is what an application would write: it checks its parameters, runs a facade verb or two
// and answers JSON. It doesn't know which path the rows took.
//
//	func (s *Site) filings(c echo.Context) error {
//		rows, err := dbaccess.All[Filing](c.Request().Context(), s.db, filings.Where(query.Eq("ticker", ticker)))
//		…
//		return c.JSON(http.StatusOK, rows)
//	}
//
// What is for the demo alone is kept apart: the switch ?path=rest|direct, the form that moves the
// flag and the one that signs a demo user in.
package site
