package measure_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/latency"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
	"github.com/twinpath/twinpath/example-app/internal/measure"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

const (
	injected = 20 * time.Millisecond
	margin   = 15 // ms that the right layer must have grown by, beyond any other
	secret   = "a secret of at least thirty-two bytes"
)

// bench makes backends on real servers, near ones and such that are a round trip of injected away.
type bench struct {
	t      *testing.T
	db     *pgtest.Database
	tokens *jwt.HS256
	schema []byte
}

// far returns an address that is a round trip of injected away from addr.
func (b *bench) far(addr string) string {
	b.t.Helper()
	p, err := wireproxy.Start(wireproxy.Config{Target: addr, Delay: injected / 2})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			b.t.Error(err)
		}
	})
	return p.Addr()
}

// standIn returns the host of a stand-in for PostgREST that logs in by dsn.
func (b *bench) standIn(dsn string) string {
	b.t.Helper()
	srv, err := postgresttest.NewServer(postgresttest.Config{DSN: dsn, JWTSecret: secret, Schemas: []string{"quick", "slow"}, ServerTiming: true})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return strings.TrimPrefix(srv.URL, "http://")
}

func (b *bench) rest(host, schema string) latency.Mode {
	b.t.Helper()
	backend, err := rest.New(rest.Config{URL: "http://" + host, Schema: schema, Signer: b.tokens})
	if err != nil {
		b.t.Fatal(err)
	}
	b.closing(backend)
	return latency.Mode{Backend: backend, Path: dbaccess.REST}
}

func (b *bench) direct(dsn, schema string) latency.Mode {
	b.t.Helper()
	backend, err := direct.New(direct.Config{DSN: dsn, Schema: schema, MaxConns: 1})
	if err != nil {
		b.t.Fatal(err)
	}
	b.closing(backend)
	if b.schema == nil {
		if b.schema, err = backend.SchemaCache(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
	}
	return latency.Mode{Backend: backend}
}

func (b *bench) perRequest(dsn string) latency.Mode {
	return latency.Mode{Open: func(context.Context) (dbaccess.Backend, error) {
		return direct.New(direct.Config{DSN: dsn, Schema: "quick", SchemaCache: b.schema, MaxConns: 1})
	}}
}

func (b *bench) closing(backend dbaccess.Backend) {
	b.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := backend.Close(ctx); err != nil {
			b.t.Error(err)
		}
	})
}

// TestLayersAgreeWithWhatWasInjected makes one hop after the other longer, and the database slower, and looks for
// the layer that took it.
func TestLayersAgreeWithWhatWasInjected(t *testing.T) {
	t.Parallel()
	tokens, err := jwt.NewHS256(jwt.Config{Secret: []byte(secret)})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, db: pgtest.Golden(t), tokens: tokens}
	b.db.Exec(t, `
		create schema quick; create view quick.probe as select 1 as id;
		create schema slow; create view slow.probe as select 1 as id, pg_sleep(0.02)::text as pause;
		grant usage on schema quick, slow to anon; grant select on quick.probe, slow.probe to anon;`)
	pooler := pgtest.NewPooler(t, localpg.PoolerConfig{})
	beyond := pgtest.NewPooler(t, localpg.PoolerConfig{Upstream: b.far(b.db.Addr)})
	through := func(p *localpg.Pooler) string { return p.DSN(pgtest.LoginRole, pgtest.LoginPassword, b.db.Name) }
	near := through(pooler)
	far := pgtest.At(t, near, b.far(pooler.Addr()))
	web := b.standIn(b.db.DirectDSN)

	modes := map[string]latency.Mode{
		"rest": b.rest(web, "quick"), "rest-app-to-postgrest": b.rest(b.far(web), "quick"), "rest-database": b.rest(web, "slow"),
		"rest-postgrest-to-database": b.rest(b.standIn(pgtest.At(t, b.db.DirectDSN, b.far(b.db.Addr))), "quick"),
		"direct":                     b.direct(near, "quick"), "direct-app-to-pooler": b.direct(far, "quick"),
		"direct-pooler-to-database": b.direct(through(beyond), "quick"), "direct-database": b.direct(near, "slow"),
	}
	modes["connect"], modes["connect-app-to-pooler"] = b.perRequest(near), b.perRequest(far)
	probes, err := latency.NewProbes(latency.ProbesConfig{
		Modes: modes, Queries: []query.Query{query.From("probe").Named("probe")}, Identity: auth.Identity{Role: "anon"}, Authorize: latency.AllowLoopback,
	})
	if err != nil {
		t.Fatal(err)
	}
	app := httptest.NewServer(http.StripPrefix("/api/debug", probes))
	defer app.Close()

	targets, err := measure.TargetsBelow(app.URL, slices.Sorted(maps.Keys(modes)))
	if err != nil {
		t.Fatal(err)
	}
	res, rep := run(t, measure.Config{Targets: targets, Rounds: 15, OneByOne: true, KeepUnknown: true})
	for name, m := range rep.Modes {
		if m.Errors > 0 || m.N != 15 || m.Connecting != 0 && !strings.HasPrefix(name, "connect") {
			t.Errorf("%s: %+v", name, m)
		}
	}
	layers := medians(res)
	for mode, want := range map[string]string{
		"rest-app-to-postgrest": "network+pooler", "rest-postgrest-to-database": "database", "rest-database": "database",
		"direct-app-to-pooler": "network+pooler", "direct-pooler-to-database": "network+pooler", "direct-database": "database",
		"connect-app-to-pooler": "pool",
	} {
		base, _, _ := strings.Cut(mode, "-")
		grown := map[string]float64{}
		for layer, ms := range layers[mode] {
			grown[layer] = ms - layers[base][layer]
		}
		for layer, ms := range grown {
			if layer != want && grown[want] < max(ms, 0)+margin {
				t.Errorf("%s: %s grew by %.1f ms, and %s by %.1f ms", mode, want, grown[want], layer, ms)
			}
		}
	}
}

// medians are those of each mode's layers, in ms.
func medians(res *measure.Result) map[string]map[string]float64 {
	all := map[string]map[string][]float64{}
	for _, s := range res.Samples {
		if s.WarmUp || !s.OK() {
			continue
		}
		if all[s.Mode] == nil {
			all[s.Mode] = map[string][]float64{}
		}
		for layer, ms := range map[string]float64{
			"client": s.ClientCreate + s.ClientClose, "app": s.Layers.App, "pool": s.Layers.Pool, "network+pooler": s.Layers.Network,
			"postgrest": s.Layers.PostgREST, "database": s.Layers.Database,
		} {
			all[s.Mode][layer] = append(all[s.Mode][layer], ms)
		}
	}
	out := map[string]map[string]float64{}
	for mode, layers := range all {
		out[mode] = map[string]float64{}
		for layer, list := range layers {
			slices.Sort(list)
			out[mode][layer] = list[len(list)/2]
		}
	}
	return out
}
