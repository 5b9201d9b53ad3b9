package parity_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/dbaccess/rest"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

const (
	secret  = "a-secret-for-tests-of-at-least-32-bytes!"
	aliceID = "11111111-1111-1111-1111-111111111111"
	bobID   = "22222222-2222-2222-2222-222222222222"
)

var (
	anon    = auth.Identity{Role: "anon"}
	service = auth.Identity{Role: "service_role"}
	alice   = auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"` + aliceID + `"}`)}
	bob     = auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"` + bobID + `"}`)}
)

// side is the facade on one path, and the database behind it.
type side struct {
	path     dbaccess.Path
	db       *dbaccess.DB
	database *pgtest.Database
}

// sides are both, on equal databases that script has changed.
func sides(t *testing.T, script string) []*side {
	t.Helper()
	return []*side{restSide(t, script), directSide(t, script)}
}

func restSide(t *testing.T, script string) *side {
	t.Helper()
	database := fixture(t, script)
	srv, err := postgresttest.NewServer(postgresttest.Config{DSN: database.DirectDSN, JWTSecret: secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Errorf("close the stand-in: %v", err)
		}
	})
	signer, err := jwt.NewHS256(jwt.Config{Secret: []byte(secret), Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	backend, err := rest.New(rest.Config{URL: srv.URL, Signer: signer})
	if err != nil {
		t.Fatal(err)
	}
	return &side{dbaccess.REST, facade(t, dbaccess.Config{REST: backend}), database}
}

func directSide(t *testing.T, script string) *side {
	t.Helper()
	database := fixture(t, script)
	backend, err := direct.New(direct.Config{DSN: database.PoolerDSN})
	if err != nil {
		t.Fatal(err)
	}
	return &side{dbaccess.Direct, facade(t, dbaccess.Config{Direct: backend}), database}
}

func fixture(t *testing.T, script string) *pgtest.Database {
	t.Helper()
	database := pgtest.Golden(t)
	if script != "" {
		database.Exec(t, script)
	}
	return database
}

func facade(t *testing.T, cfg dbaccess.Config) *dbaccess.DB {
	t.Helper()
	db, err := dbaccess.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := db.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

// table returns a table's content as a superuser sees it.
func (s *side) table(t *testing.T, name, key string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.database.SuperDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var rows string
	err = conn.QueryRow(t.Context(), "select coalesce(json_agg(x order by "+key+"), '[]')::text from public."+name+" x").Scan(&rows)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// failure is what an error is to a program.
type failure struct {
	Code, SQLState string
	Status         int
	Is             []string
	Message        string
	Detail, Hint   string
}

// sentinels are what a program asks an error for.
var sentinels = map[string]error{
	"ErrNoRows": dbaccess.ErrNoRows, "ErrMultipleRows": dbaccess.ErrMultipleRows, "ErrTruncated": dbaccess.ErrTruncated,
	"ErrUnauthorized": dbaccess.ErrUnauthorized, "ErrPermission": dbaccess.ErrPermission, "ErrConflict": dbaccess.ErrConflict,
	"ErrInvalid": dbaccess.ErrInvalid, "ErrNotFound": dbaccess.ErrNotFound, "ErrTimeout": dbaccess.ErrTimeout,
	"ErrUnavailable": dbaccess.ErrUnavailable, "context.DeadlineExceeded": context.DeadlineExceeded,
}

func failureOf(t *testing.T, err error) *failure {
	t.Helper()
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*dbaccess.Error](err)
	if !ok {
		t.Fatalf("error is a %T (%v), want a *dbaccess.Error", err, err)
	}
	f := &failure{Code: e.Code, SQLState: e.SQLState, Status: e.HTTPStatus, Message: e.Message(), Detail: e.Detail(), Hint: e.Hint()}
	for _, name := range []string{
		"ErrNoRows", "ErrMultipleRows", "ErrTruncated", "ErrUnauthorized", "ErrPermission", "ErrConflict", "ErrInvalid", "ErrNotFound",
		"ErrTimeout", "ErrUnavailable", "context.DeadlineExceeded",
	} {
		if errors.Is(err, sentinels[name]) {
			f.Is = append(f.Is, name)
		}
	}
	return f
}
