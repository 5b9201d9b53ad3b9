// The example sqlc is an API on sqlc and pgx as there are many, with two lines more:
// middleware.Sentry for a transaction a request, and pgxtrace.Configure for the spans
// of its queries. It does not use package dbaccess.
//
//	DATABASE_URL=postgres://… SENTRY_DSN=https://… go run ./example-app/adopt/sqlc
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"

	"github.com/twinpath/twinpath/example-app/adopt/sqlc/db"
	"github.com/twinpath/twinpath/middleware"
	"github.com/twinpath/twinpath/tracing/pgxtrace"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg := config{dsn: os.Getenv("DATABASE_URL"), sentry: os.Getenv("SENTRY_DSN"), addr: "127.0.0.1:8080"}
	if err := run(ctx, cfg, func(url string) { fmt.Println("listening on", url) }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// config is what the environment says.
type config struct{ dsn, sentry, addr string }

// run serves until ctx ends. ready is told the address.
func run(ctx context.Context, cfg config, ready func(url string)) error {
	err := sentry.Init(sentry.ClientOptions{
		Dsn: cfg.sentry, EnableTracing: true, TracesSampleRate: 1,
	})
	if err != nil {
		return err
	}
	defer sentry.Flush(5 * time.Second)

	pool, err := newPool(ctx, cfg.dsn)
	if err != nil {
		return err
	}
	defer pool.Close()

	l, err := net.Listen("tcp", cfg.addr)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: newAPI(pool), ReadHeaderTimeout: 10 * time.Second}
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

func newPool(ctx context.Context, dsn string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("DATABASE_URL is no DSN") // what is wrong with it may be a password
	}
	// Behind a transaction pooler a prepared statement may be on another connection.
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	pgxtrace.Configure(cfg)
	return pgxpool.NewWithConfig(ctx, cfg)
}

func newAPI(pool *pgxpool.Pool) *echo.Echo {
	e := echo.New()
	e.Use(echomiddleware.Recover(), middleware.Sentry())
	queries := db.New(pool)
	e.GET("/companies", func(c echo.Context) error {
		rows, err := queries.ListCompanies(c.Request().Context(), c.QueryParam("from"))
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, rows)
	})
	e.POST("/companies/:ticker/notes", func(c echo.Context) error {
		var company db.Company
		ctx := c.Request().Context()
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
			q := queries.WithTx(tx)
			if company, err = q.CountNote(ctx, c.Param("ticker")); err != nil {
				return err
			}
			return q.AddNote(ctx, db.AddNoteParams{Ticker: company.Ticker, Body: c.FormValue("body")})
		})
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return echo.NewHTTPError(http.StatusNotFound, "no such company")
		case err != nil:
			return err
		}
		return c.JSON(http.StatusCreated, company)
	})
	return e
}
