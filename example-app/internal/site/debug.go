package site

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/latency"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/example-app/internal/measure"
	"github.com/twinpath/twinpath/example-app/internal/stock"
)

// debugPrefix is where the instruments are. They answer who asks from the machine itself, and there
// is nothing there for anybody else.
const debugPrefix = "/api/debug"

// maxProbes is more than a load generator on the same machine has use for.
const maxProbes = 40

// probedQueries are those of the home page, for its first company: the ones that probes run, in this
// order. None needs more than one round trip.
func probedQueries() []query.Query {
	of := query.Eq("ticker", defaultTicker)
	return []query.Query{
		companyByTicker.Where(of),
		quotes.Where(of),
		priceHistory.Where(of).Limit(180),
		recentFilings.Where(of).Limit(9),
		movers,
		largeTrades.Limit(8),
		sectors,
		topHolders.Limit(6),
	}
}

// newProbes makes the probes for the modes of the config.
func newProbes(cfg *Config) (*latency.Probes, error) {
	return latency.NewProbes(latency.ProbesConfig{
		Modes: cfg.Modes, Queries: probedQueries(), Identity: auth.Identity{Role: stock.RoleAnon},
		Authorize: latency.AllowLoopback, MaxConcurrent: maxProbes, Started: cfg.Started,
	})
}

// debugRoutes mounts the instruments that the config has.
func (s *Site) debugRoutes() error {
	mount := func(path string, h echo.HandlerFunc) { s.echo.Any(debugPrefix+path, h, localOnly) }
	mount("/traces", onlyRead(s.tracesJSON))
	if s.cfg.Report != nil {
		mount("/report", echo.WrapHandler(s.cfg.Report.Handler(latency.AllowLoopback)))
	}
	if len(s.cfg.Modes) == 0 {
		return nil
	}
	probes, err := newProbes(&s.cfg)
	if err != nil {
		return err
	}
	h := echo.WrapHandler(http.StripPrefix(debugPrefix, probes))
	mount("/latency/*", s.standIn(h))
	mount("/health/*", h)
	return nil
}

// standIn says in the answers of the probe rest that no real PostgREST is behind it.
func (s *Site) standIn(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if s.cfg.StandIn && c.Request().URL.Path == debugPrefix+"/latency/"+latency.ModeREST {
			c.Response().Header().Set(measure.StandInHeader, measure.StandIn)
		}
		return next(c)
	}
}

// localOnly answers as if there were no such route, unless the request is local.
func localOnly(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !latency.AllowLoopback(c.Request()) {
			return echo.ErrNotFound
		}
		c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
		return next(c)
	}
}

// onlyRead refuses other methods as Echo does for the routes that have some of them.
func onlyRead(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if m := c.Request().Method; m != http.MethodGet && m != http.MethodHead {
			c.Response().Header().Set(echo.HeaderAllow, "OPTIONS, GET, HEAD")
			return echo.ErrMethodNotAllowed
		}
		return next(c)
	}
}

// instrument is a link of the home page.
type instrument struct{ Path, Name string }

// instrumentsFor are the links for who may follow them.
func (s *Site) instrumentsFor(c echo.Context) []instrument {
	if !latency.AllowLoopback(c.Request()) {
		return nil
	}
	var list []instrument
	if s.cfg.Report != nil {
		list = append(list, instrument{debugPrefix + "/report", "latency report"})
	}
	for _, name := range []string{latency.ModeREST, latency.ModeDirect, latency.ModeDirectPerRequest} {
		if _, ok := s.cfg.Modes[name]; ok {
			list = append(list, instrument{debugPrefix + "/latency/" + name, "probe " + name})
		}
	}
	return list
}
