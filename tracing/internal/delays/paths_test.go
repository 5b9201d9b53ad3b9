package delays_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/sentrytest"
	"github.com/twinpath/twinpath/tracing"
	"github.com/twinpath/twinpath/tracing/pgxtrace"
)

// client makes calls on one path. It may have a connection that is idle.
type client interface {
	// call reads the only row of a view.
	call(ctx context.Context, view string) error
	// slowDecode is call with a type that is slow to decode, if the path decodes.
	slowDecode(ctx context.Context, view string) error
	close()
}

// path makes clients of one kind that connect to an address.
type path struct {
	name   string
	web    bool // it speaks HTTP
	prefix string
	open   func(t *testing.T, rig *rig, addr string) client
}

var paths = []path{
	{"direct", false, "db.phase.", openDirect},
	{"rest", true, "db.phase.", openREST},
	{"pgxtrace", false, "db.phase.", openPool},
	{"transport", true, "http.phase.", openTransport},
}

type row struct {
	V string `db:"v"`
}

type slowRow struct {
	V slowText `db:"v"`
}

// decodeDelay is how long slowText takes, in nanoseconds.
var decodeDelay atomic.Int64

// slowText takes its time to be decoded.
type slowText string

func (s *slowText) UnmarshalJSON(b []byte) error {
	time.Sleep(time.Duration(decodeDelay.Load()))
	var v string
	err := json.Unmarshal(b, &v)
	*s = slowText(v)
	return err
}

// facade is a client by package dbaccess.
type facade struct{ db *dbaccess.DB }

func (f facade) call(ctx context.Context, view string) error {
	_, err := dbaccess.All[row](ctx, f.db, query.From(view))
	return err
}

func (f facade) slowDecode(ctx context.Context, view string) error {
	_, err := dbaccess.All[slowRow](ctx, f.db, query.From(view))
	return err
}

func (f facade) close() { _ = f.db.Close(context.Background()) }

func openFacade(t *testing.T, cfg dbaccess.Config) client {
	t.Helper()
	cfg.Default, cfg.Observers = &auth.Identity{Role: "anon"}, []dbaccess.Observer{tracing.NewObserver(tracing.Off())}
	db, err := dbaccess.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return facade{db}
}

func openDirect(t *testing.T, rig *rig, addr string) client {
	t.Helper()
	b, err := direct.New(direct.Config{DSN: rig.dsn(t, addr), MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	return openFacade(t, dbaccess.Config{Direct: b})
}

func (r *rig) dsn(t *testing.T, addr string) string {
	t.Helper()
	dsn := pgtest.At(t, r.db.PoolerDSN, addr)
	if !strings.Contains(dsn, "sslmode=disable") {
		t.Fatal("the DSN says nothing of TLS")
	}
	return strings.Replace(dsn, "sslmode=disable", "sslmode=require", 1)
}

func openREST(t *testing.T, _ *rig, addr string) client {
	t.Helper()
	base := webTransport()
	b, err := rest.New(rest.Config{URL: "https://" + addr, Transport: base})
	if err != nil {
		t.Fatal(err)
	}
	return closing{openFacade(t, dbaccess.Config{REST: b}), base}
}

// closing closes a transport's connections too.
type closing struct {
	client
	base *http.Transport
}

func (c closing) close() {
	c.client.close()
	c.base.CloseIdleConnections()
}

func webTransport() *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // the certificate is another name's
}

// pool is a client without the facade.
type pool struct{ *pgxpool.Pool }

func openPool(t *testing.T, rig *rig, addr string) client {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(rig.dsn(t, addr))
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns = 1
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	pgxtrace.Configure(cfg)
	p, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return pool{p}
}

func (p pool) call(ctx context.Context, view string) error {
	rows, err := p.Query(ctx, "select v from "+view)
	if err != nil {
		return err
	}
	_, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
	return err
}

func (p pool) slowDecode(ctx context.Context, view string) error { return p.call(ctx, view) }

func (p pool) close() { p.Close() }

// web is an HTTP client without the facade.
type web struct {
	base *http.Transport
	addr string
}

func openTransport(_ *testing.T, _ *rig, addr string) client { return web{webTransport(), addr} }

func (w web) call(ctx context.Context, view string) error {
	c := http.Client{Transport: tracing.BindTransport(ctx, w.base, tracing.Off())}
	resp, err := c.Get("https://" + w.addr + "/" + view)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func (w web) slowDecode(ctx context.Context, view string) error { return w.call(ctx, view) }

func (w web) close() { w.base.CloseIdleConnections() }

// phases runs a call under a transaction and returns the phases that it tells, in
// milliseconds, without those that are divided further.
func (p path) phases(t *testing.T, call func(ctx context.Context) error) map[string]float64 {
	t.Helper()
	r := sentrytest.New(t, nil)
	tx := tracing.NewTransaction(sentry.StartTransaction(r.Context(), "call"), -1)
	err := call(tx.Context())
	tx.Finish()
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	out := map[string]float64{}
	for _, s := range r.One(t).Spans {
		if s.Op != "db" && s.Op != "http.client" {
			continue
		}
		for key, v := range s.Data {
			if name, ok := strings.CutPrefix(key, p.prefix); ok {
				out[strings.TrimSuffix(name, "_ms")] = v.(float64)
			}
		}
	}
	// What is divided counts for what its parts leave.
	for _, whole := range []string{"acquire", "acquire.connect"} {
		parts := whole
		if whole == "acquire.connect" {
			parts = "connect"
		}
		for name, ms := range out {
			if strings.HasPrefix(name, parts+".") {
				out[whole] -= ms
			}
		}
	}
	for name := range out {
		if strings.HasPrefix(name, "wait.") {
			delete(out, name) // placed within the wait
		}
	}
	return out
}
