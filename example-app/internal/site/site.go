package site

import (
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/latency"
	"github.com/twinpath/twinpath/example-app/internal/waterfall"
)

// Tokens verifies bearer tokens and mints those of the demo's users.
type Tokens interface {
	auth.Verifier
	auth.Signer
}

// Config makes a [Site].
type Config struct {
	// DB answers the queries. Its observers must include CallObserver's. Required.
	DB *dbaccess.DB
	// Flag is the DB's router. Required.
	Flag *Flag
	// Tokens verifies callers and signs the demo's users in. Required.
	Tokens Tokens
	// Hub is where requests' transactions go. Required.
	Hub *sentry.Hub
	// Traces has the transactions that the trace page draws. Required.
	Traces *waterfall.Recorder
	// Companies fill the home page's menu. Defaults to none, and then the page shows one company only.
	Companies []CompanyName
	// TracesGo completes the sentence "… is a Sentry transaction of this process, …". Required.
	TracesGo string
	// Parts says on the home page what the site runs on, Notices what is out of the ordinary.
	// Defaults to nothing.
	Parts, Notices []string
	// Modes are the ways that the probes below /api/debug compare. Defaults to none, and then there are
	// no probes.
	Modes map[string]latency.Mode
	// StandIn marks the answers of the probe rest as those of a stand-in for PostgREST. Defaults to false.
	StandIn bool
	// Report is shown at /api/debug/report. It must be among the DB's observers. Defaults to none.
	Report *latency.Recorder
	// Started is when the process started, for the probes. Defaults to when the site was made.
	Started time.Time
	// Logger gets failed requests. Defaults to slog.Default.
	Logger *slog.Logger
}

// CompanyName is a company of the home page's menu.
type CompanyName struct {
	Ticker string `json:"ticker"`
	Name   string `json:"name"`
}

// Site is the demo's web site, an http.Handler.
type Site struct {
	cfg   Config
	echo  *echo.Echo
	pages *template.Template
}

var _ http.Handler = (*Site)(nil)

// New makes the site.
func New(cfg Config) (*Site, error) {
	if cfg.DB == nil || cfg.Flag == nil || cfg.Tokens == nil || cfg.Hub == nil || cfg.Traces == nil {
		return nil, errors.New("site: Config needs DB, Flag, Tokens, Hub and Traces")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	pages, err := parsePages()
	if err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	static, err := fs.Sub(files, "static")
	if err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	s := &Site{cfg: cfg, echo: echo.New(), pages: pages}
	s.echo.HTTPErrorHandler = s.handleError
	s.echo.Use(s.recovered, secureHeaders, sameOrigin)
	s.routes(static)
	if err := s.debugRoutes(); err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	return s, nil
}

// ServeHTTP answers a request.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

func (s *Site) routes(static fs.FS) {
	read := func(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) {
		s.echo.Match([]string{http.MethodGet, http.MethodHead}, path, h, m...)
	}
	read("/", s.home)
	read("/traces", s.traces)
	s.echo.POST("/flag", s.setFlag)
	s.echo.POST("/user", s.switchUser)
	read("/healthz", func(c echo.Context) error { return c.String(http.StatusOK, "ok\n") })
	read("/static/*", echo.StaticDirectoryHandler(static, false))

	// Without a trace of their own, which would push those of the widgets out.
	read("/api/home", s.homeJSON)

	// Each route has the middlewares itself. A group with middlewares answers 404 to all that it has no
	// route for, and so to methods that should get 405.
	m := s.instruments()
	read("/api/stocks/:ticker", s.company, m...)
	read("/api/stocks/:ticker/prices", s.prices, m...)
	read("/api/stocks/:ticker/insider-transactions", s.filingsOf, m...)
	read("/api/market/pulse", s.pulse, m...)
	read("/api/market/movers", s.moversOf, m...)
	read("/api/market/large-trades", s.largeTradesOf, m...)
	read("/api/sectors", s.sectorActivity, m...)
	read("/api/insiders/top", s.topInsiders, m...)
	read("/api/watchlists", s.watchlistsOf, m...)
	s.echo.POST("/api/watchlists/:id/items", s.watch, m...)
	s.echo.DELETE("/api/watchlists/:id/items/:ticker", s.unwatch, m...)
}

// recovered answers a panic with status 500. The log gets the stack and not the value, which may be
// anything.
func (s *Site) recovered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch v := recover(); v {
			case nil:
			case http.ErrAbortHandler:
				panic(v)
			default:
				s.cfg.Logger.Error("panic", "route", c.Path(), "type", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
				err = &Problem{Status: http.StatusInternalServerError, Code: "internal", Message: "unexpected error"}
			}
		}()
		return next(c)
	}
}

// secureHeaders lets the pages load what this server serves and nothing else.
func secureHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "+
			"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		return next(c)
	}
}

// sameOrigin refuses forms that another site's page sends.
func sameOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	protection := http.NewCrossOriginProtection()
	return func(c echo.Context) error {
		if err := protection.Check(c.Request()); err != nil {
			return &Problem{Status: http.StatusForbidden, Code: "cross_origin", Message: "the form was sent by another site's page"}
		}
		return next(c)
	}
}

func millisText(ms float64) string { return strconv.FormatFloat(ms, 'f', 1, 64) }
