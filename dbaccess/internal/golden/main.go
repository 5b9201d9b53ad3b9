// Golden runs the golden corpus on a Postgres, a PgBouncer and a stand-in for
// PostgREST that it starts, and says how many of the recorded answers each way
// reproduces:
//
//	go run ./dbaccess/internal/golden            # from the module's root
//	V=1 go run ./dbaccess/internal/golden        # by group, and why cases failed
//	go run ./dbaccess/internal/golden -update    # add what passes now to the wanted cases
//
// It fails when a case that testdata/golden.want lists does not pass. With
// POSTGREST_URL, the root of a PostgREST set up as package corpus says, the REST
// path is run against that instead of the stand-in.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/twinpath/twinpath/dbaccess/internal/golden/corpus"
	"github.com/twinpath/twinpath/internal/localpg"
)

func main() {
	dir := flag.String("testdata", "testdata", "directory of golden/ and golden.want")
	update := flag.Bool("update", false, "add the cases that pass to golden.want")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := run(ctx, *dir, *update, os.Getenv("V") == "1")
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "golden:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run says whether every wanted case passed.
func run(ctx context.Context, dir string, update, details bool) (ok bool, err error) {
	cases, err := corpus.Load(filepath.Join(dir, "golden"))
	if err != nil {
		return false, err
	}
	wantFile := filepath.Join(dir, "golden.want")
	want, err := corpus.ReadWant(wantFile)
	if err != nil {
		return false, err
	}
	servers, err := start(ctx, filepath.Join(dir, "golden", "fixture.sql"))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, servers.stop()) }()

	rig, err := corpus.NewRig(cases, corpus.RigConfig{
		DirectDSN: servers.direct, PoolerDSN: servers.pooler, PostgRESTURL: os.Getenv("POSTGREST_URL"),
	})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rig.Close(context.WithoutCancel(ctx))) }()
	report := corpus.Run(ctx, cases, rig.Ways...)
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if err := report.Write(os.Stdout, details); err != nil {
		return false, err
	}
	missing := report.Missing(want)
	for _, m := range missing {
		fmt.Println("golden wanted:", m)
	}
	if update {
		added := want.Grow(report)
		if err := want.Write(wantFile); err != nil {
			return false, err
		}
		fmt.Printf("golden.want has grown by %d\n", added)
	}
	return len(missing) == 0, nil
}

// servers are a Postgres with the corpus's database, and a PgBouncer before it.
type servers struct {
	direct, pooler string // DSNs of the login role
	ends           []func(context.Context) error
}

const database = "golden"

func start(ctx context.Context, fixture string) (_ *servers, err error) {
	s := &servers{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	script, err := os.ReadFile(fixture)
	if err != nil {
		return nil, err
	}
	cluster, err := localpg.Start(ctx, localpg.Config{})
	if err != nil {
		return nil, err
	}
	s.ends = append(s.ends, cluster.Stop)
	if err := cluster.CreateDatabase(ctx, database, ""); err != nil {
		return nil, err
	}
	if err := cluster.Exec(ctx, database, string(script)); err != nil {
		return nil, err
	}
	pooler, err := localpg.StartPooler(ctx, localpg.PoolerConfig{
		Upstream: cluster.Addr(), Users: map[string]string{corpus.Login: corpus.Login},
	})
	if err != nil {
		return nil, err
	}
	s.ends = append(s.ends, pooler.Stop)
	s.direct = cluster.DSN(corpus.Login, corpus.Login, database)
	s.pooler = pooler.DSN(corpus.Login, corpus.Login, database)
	return s, nil
}

func (s *servers) stop() error {
	var errs []error
	for i := len(s.ends) - 1; i >= 0; i-- {
		errs = append(errs, s.ends[i](context.Background()))
	}
	return errors.Join(errs...)
}
