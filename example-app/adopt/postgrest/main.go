// The example postgrest is an API on postgrest-go as there are many, with two lines
// more: middleware.Sentry for a transaction a request, and tracing.BindTransport for
// the spans of its calls, as postgrest-go v0.0.11 knows no contexts. It does not use
// package dbaccess.
//
//	POSTGREST_URL=http://… SENTRY_DSN=https://… go run ./example-app/adopt/postgrest
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"
	"github.com/supabase-community/postgrest-go"

	"github.com/twinpath/twinpath/middleware"
	"github.com/twinpath/twinpath/tracing"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg := config{url: os.Getenv("POSTGREST_URL"), sentry: os.Getenv("SENTRY_DSN"), addr: "127.0.0.1:8080"}
	if err := run(ctx, cfg, func(url string) { fmt.Println("listening on", url) }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// config is what the environment says.
type config struct{ url, sentry, addr string }

// run serves until ctx ends. ready is told the address.
func run(ctx context.Context, cfg config, ready func(url string)) error {
	err := sentry.Init(sentry.ClientOptions{
		Dsn: cfg.sentry, EnableTracing: true, TracesSampleRate: 1,
	})
	if err != nil {
		return err
	}
	defer sentry.Flush(5 * time.Second)

	base := &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second} // one for all requests
	defer base.CloseIdleConnections()

	l, err := net.Listen("tcp", cfg.addr)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: newAPI(cfg.url, base), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	ready("http://" + l.Addr().String())
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return srv.Shutdown(limit)
}

// company is a row of companies.
type company struct {
	Ticker string `json:"ticker"`
	Name   string `json:"name"`
}

func newAPI(url string, base http.RoundTripper) *echo.Echo {
	e := echo.New()
	e.Use(echomiddleware.Recover(), middleware.Sentry())

	// A client for each request: that is where the context goes in.
	client := func(c echo.Context) *postgrest.Client {
		client := postgrest.NewClient(url, "", nil)
		client.Transport.Parent = tracing.BindTransport(c.Request().Context(), base)
		return client
	}
	e.GET("/companies/:ticker", func(c echo.Context) error {
		var rows []company
		_, err := client(c).From("companies").Select("ticker,name", "", false).Eq("ticker", c.Param("ticker")).ExecuteTo(&rows)
		switch {
		case err != nil:
			return err
		case len(rows) == 0:
			return echo.NewHTTPError(http.StatusNotFound, "no such company")
		}
		return c.JSON(http.StatusOK, rows[0])
	})
	e.GET("/shout/:word", func(c echo.Context) error {
		word := client(c).Rpc("shout", "", map[string]string{"word": c.Param("word")})
		return c.String(http.StatusOK, strings.Trim(word, `"`))
	})
	return e
}
