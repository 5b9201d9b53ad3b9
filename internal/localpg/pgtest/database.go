package pgtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/internal/localpg"
)

// Database is one test's own database.
type Database struct {
	// Name is the database's name.
	Name string

	// Addr is the host:port of PostgreSQL, and Port its port.
	Addr string
	Port int

	// SuperDSN logs in as superuser, straight to PostgreSQL.
	SuperDSN string

	// DirectDSN logs in as the fixture's login role, straight to PostgreSQL.
	DirectDSN string

	// PoolerDSN logs in as the fixture's login role through the shared PgBouncer in transaction
	// mode. Empty unless the database comes from [Golden] or [OpenGolden].
	PoolerDSN string

	// PoolerAddr is the host:port of the PgBouncer behind PoolerDSN, and PoolerPort its port.
	PoolerAddr string
	PoolerPort int
}

// Exec runs a script as superuser in the database.
func (d *Database) Exec(tb testing.TB, script string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startTimeout)
	defer cancel()
	if err := localpg.Exec(ctx, d.SuperDSN, script); err != nil {
		tb.Fatal(err)
	}
}

// template is a database that tests copy, loaded by the first that asks.
type template struct {
	once sync.Once
	name string
	err  error
}

// NewDatabase makes a database with the SQL files loaded, in order, as superuser. It is dropped when the
// test ends, together with the connections to it.
func NewDatabase(tb testing.TB, sqlFiles ...string) *Database {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startTimeout)
	defer cancel()
	db, drop, err := open(ctx, sqlFiles, false)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := drop(); err != nil {
			tb.Errorf("drop the test's database: %v", err)
		}
	})
	return db
}

// Golden makes a database with the golden fixture, reachable through the shared PgBouncer too. It
// is dropped when the test ends, together with the connections to it.
func Golden(tb testing.TB) *Database {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), startTimeout)
	defer cancel()
	db, drop, err := OpenGolden(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := drop(); err != nil {
			tb.Errorf("drop the test's database: %v", err)
		}
	})
	return db
}

// OpenGolden is [Golden] for code without a testing.TB, such as an Example. The function it returns
// drops the database.
func OpenGolden(ctx context.Context) (*Database, func() error, error) {
	fixture, err := File("testdata/golden/fixture.sql")
	if err != nil {
		return nil, nil, err
	}
	return open(ctx, []string{fixture}, true)
}

func open(ctx context.Context, sqlFiles []string, pooled bool) (*Database, func() error, error) {
	super, err := shared.super(ctx)
	if err != nil {
		return nil, nil, err
	}
	tmpl, err := shared.template(ctx, super, sqlFiles)
	if err != nil {
		return nil, nil, err
	}
	name, err := createDatabase(ctx, super, tmpl)
	if err != nil {
		return nil, nil, err
	}
	drop := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		return dropDatabase(ctx, super, name)
	}
	db, err := describe(ctx, super, name, pooled)
	if err != nil {
		return nil, nil, errors.Join(err, drop())
	}
	return db, drop, nil
}

func describe(ctx context.Context, super, name string, pooled bool) (*Database, error) {
	db := &Database{Name: name}
	var err error
	if db.SuperDSN, err = inDatabase(super, name); err != nil {
		return nil, err
	}
	cfg, err := pgconn.ParseConfig(super)
	if err != nil {
		return nil, err
	}
	db.Port = int(cfg.Port)
	db.Addr = cfg.Host + ":" + strconv.Itoa(db.Port)
	if strings.Contains(cfg.Host, ":") {
		db.Addr = "[" + cfg.Host + "]:" + strconv.Itoa(db.Port)
	}
	direct := url.URL{
		Scheme: "postgres", User: url.UserPassword(LoginRole, LoginPassword), Host: db.Addr, Path: "/" + name,
		RawQuery: "sslmode=disable",
	}
	if cfg.TLSConfig != nil {
		direct.RawQuery = "sslmode=require"
	}
	db.DirectDSN = direct.String()
	if pooled {
		p, err := shared.sharedPooler(ctx)
		if err != nil {
			return nil, err
		}
		db.PoolerAddr, db.PoolerPort = p.Addr(), p.Port()
		db.PoolerDSN = p.DSN(LoginRole, LoginPassword, name)
	}
	return db, nil
}

// At returns the DSN with another host:port, such as that of a proxy in front of the server.
func At(tb testing.TB, dsn, addr string) string {
	tb.Helper()
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" {
		tb.Fatal("pgtest: At needs a DSN in URL form")
	}
	u.Host = addr
	return u.String()
}

func inDatabase(dsn, name string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("pgtest: %s must be a URL, postgres://user:password@host:port/postgres", EnvDatabaseURL)
	}
	u.Path = "/" + name
	return u.String(), nil
}

// template returns the name of the template database for the files. Loading it is not bounded by
// the first asker's own deadline alone: others wait for the same load.
func (s *server) template(ctx context.Context, super string, sqlFiles []string) (string, error) {
	if len(sqlFiles) == 0 {
		return "", nil
	}
	paths := make([]string, len(sqlFiles))
	for i, file := range sqlFiles {
		path, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		paths[i] = path
	}
	key := strings.Join(paths, "\x00")
	s.mu.Lock()
	tmpl := s.templates[key]
	if tmpl == nil {
		tmpl = &template{}
		if s.templates == nil {
			s.templates = make(map[string]*template)
		}
		s.templates[key] = tmpl
	}
	s.mu.Unlock()
	tmpl.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
		defer cancel()
		tmpl.name, tmpl.err = load(ctx, super, paths)
		if tmpl.err == nil {
			s.mu.Lock()
			s.ends = append(s.ends, func(ctx context.Context) error { return dropDatabase(ctx, super, tmpl.name) })
			s.mu.Unlock()
		}
	})
	return tmpl.name, tmpl.err
}

// loadLock is the key of the advisory lock under which SQL files are loaded. Test binaries that share
// a server would otherwise create and grant the same roles at the same time.
const loadLock = 7_492_638_417

func load(ctx context.Context, super string, paths []string) (name string, err error) {
	conn, err := pgx.Connect(ctx, super)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", int64(loadLock)); err != nil {
		return "", err
	}
	if name, err = createDatabase(ctx, super, ""); err != nil {
		return "", err
	}
	dsn, err := inDatabase(super, name)
	if err != nil {
		return "", err
	}
	for _, path := range paths {
		script, err := os.ReadFile(path)
		if err == nil {
			err = localpg.Exec(ctx, dsn, string(script))
		}
		if err != nil {
			return "", errors.Join(fmt.Errorf("pgtest: load %s: %w", path, err), dropDatabase(ctx, super, name))
		}
	}
	return name, nil
}

func createDatabase(ctx context.Context, super, tmpl string) (string, error) {
	name := "twinpath_test_" + strings.ToLower(rand.Text()[:12])
	sql := "create database " + pgx.Identifier{name}.Sanitize()
	if tmpl != "" {
		sql += " template " + pgx.Identifier{tmpl}.Sanitize()
	}
	return name, localpg.Exec(ctx, super, sql)
}

func dropDatabase(ctx context.Context, super, name string) error {
	return localpg.Exec(ctx, super, "drop database if exists "+pgx.Identifier{name}.Sanitize()+" with (force)")
}
