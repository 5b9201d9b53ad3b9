package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

//go:embed fixture.sql
var fixture string

// filing is a row of the fixture's table, for either path and each peer.
type filing struct {
	ID       int64           `db:"id" json:"id"`
	Ref      string          `db:"ref" json:"ref"`
	Title    string          `db:"title" json:"title"`
	Price    float64         `db:"price" json:"price"`
	Tags     []string        `db:"tags" json:"tags"`
	Detail   json.RawMessage `db:"detail" json:"detail"`
	FiledAt  time.Time       `db:"filed_at" json:"filed_at"`
	Late     bool            `db:"late" json:"late"`
	Score    float64         `db:"score" json:"score"`
	Quantity int32           `db:"quantity" json:"quantity"`
}

var filings = query.From("filings").Named("filings_from").OrderBy(query.Asc("id"))

// filingsFrom is what an application asks: a query made once, narrowed by each request.
func filingsFrom(id int64, limit int) query.Query {
	return filings.Where(query.Gte("id", id)).Limit(limit)
}

const (
	loginRole = "authenticator" // and its password
	callerID  = "11111111-1111-1111-1111-111111111111"
	claims    = `{"sub":"` + callerID + `","role":"authenticated"}`
)

var caller = auth.Identity{Role: "authenticated", Claims: json.RawMessage(claims)}

// rig is PostgreSQL with the fixture and PgBouncer in front of it.
type rig struct {
	cluster *localpg.Cluster
	pooler  *localpg.Pooler
}

func startRig(ctx context.Context) (_ *rig, err error) {
	r := &rig{}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.cluster, err = localpg.Start(ctx, localpg.Config{}); err != nil {
		return nil, err
	}
	if err := r.cluster.Exec(ctx, "postgres", fixture); err != nil {
		return nil, err
	}
	r.pooler, err = localpg.StartPooler(ctx, localpg.PoolerConfig{Upstream: r.cluster.Addr(), Users: map[string]string{loginRole: loginRole, readerRole: readerRole}})
	return r, err
}

func (r *rig) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var errs []error
	if r.pooler != nil {
		errs = append(errs, r.pooler.Stop(ctx))
	}
	if r.cluster != nil {
		errs = append(errs, r.cluster.Stop(ctx))
	}
	return errors.Join(errs...)
}

// dsn logs in at the pooler, which is reached at addr.
func (r *rig) dsn(addr string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(loginRole, loginRole), Host: addr, Path: "/postgres", RawQuery: "sslmode=disable"}
	return u.String()
}

// proxy puts a network in front of the pooler, with that delay in each direction.
func (r *rig) proxy(delay time.Duration) (*wireproxy.Proxy, error) {
	return wireproxy.Start(wireproxy.Config{Target: r.pooler.Addr(), Delay: delay})
}

// directDB is the facade with nothing but the direct path, connected.
func directDB(ctx context.Context, dsn string) (*dbaccess.DB, error) {
	path, err := direct.New(direct.Config{DSN: dsn})
	if err != nil {
		return nil, err
	}
	db, err := dbaccess.New(dbaccess.Config{Direct: path})
	if err != nil {
		return nil, errors.Join(err, path.Close(ctx))
	}
	if err := db.Start(ctx); err != nil {
		return nil, errors.Join(err, db.Close(ctx))
	}
	return db, nil
}
