package direct_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
)

// canary stands in every value and claim that an error must not show.
const canary = "c4n4ry"

func checkNoCanary(t *testing.T, name string, err error) {
	t.Helper()
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Error("failed", "error", err)
	js, jsErr := json.Marshal(err)
	if jsErr != nil {
		t.Fatal(jsErr)
	}
	for how, text := range map[string]string{
		"Error": err.Error(), "%v": fmt.Sprintf("%v", err), "%+v": fmt.Sprintf("%+v", err), "%#v": fmt.Sprintf("%#v", err),
		"%s": fmt.Sprintf("%s", err), "%q": fmt.Sprintf("%q", err), "slog": log.String(), "json": string(js),
	} {
		if strings.Contains(text, canary) {
			t.Errorf("%s: %s shows a value: %s", name, how, text)
		}
	}
}

const failingSQL = `
	create function public.fail(code text, msg text, det text) returns boolean stable language plpgsql as
		$$ begin raise exception using errcode = code, message = msg, detail = det; end $$;
	create view public.teapot as select 1 as id where public.fail('PT418', 'c4n4ry', '');
	create view public.raised as select 1 as id where public.fail('PGRST',
		'{"code":"123","message":"c4n4ry","details":"d","hint":"h"}', '{"status":402,"headers":{}}');
	create table public.trail (who text);
	grant insert on public.trail to anon, authenticated;
	create function public.leave_trail() returns int volatile language sql as $$ insert into public.trail values (current_user) returning 1 $$;
	create view public.writing as select public.leave_trail() as id;
	create function public.lost() returns int stable language plpgsql as $$ begin return (select count(*) from public.not_there); end $$;
	create view public.losing as select public.lost() as id;
	grant select on public.teapot, public.raised, public.writing, public.losing to anon, authenticated;`

func TestErrors(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, failingSQL)
	b := open(t, direct.Config{DSN: db.PoolerDSN})
	companies := query.From("companies").Columns("ticker")
	claims := json.RawMessage(`{"sub":"` + aliceID + `","note":"` + canary + `"}`)
	user := auth.Identity{Role: "authenticated", Claims: claims, Token: canary}
	tests := []struct {
		name    string
		q       query.Query
		id      auth.Identity
		code    string
		status  int
		kind    error
		message string // "" for any
	}{
		{"unknown table", query.From("nopes"), anon, "PGRST205", 404, dbaccess.ErrNotFound, "Could not find the table 'public.nopes' in the schema cache"},
		{"unknown column", query.From("companies").Columns("ticker", "nope"), anon, "42703", 400, dbaccess.ErrNotFound, "column companies.nope does not exist"},
		{"unknown table in a function", query.From("losing").Columns("id"), user, "42P01", 404, dbaccess.ErrNotFound, `relation "public.not_there" does not exist`},
		{"unknown role", companies, auth.Identity{Role: "no_such_role", Claims: claims}, "22023", 401, dbaccess.ErrUnauthorized, `role "no_such_role" does not exist`},
		{"role not granted", companies, auth.Identity{Role: "pg_monitor", Claims: claims}, "42501", 403, dbaccess.ErrPermission, `permission denied to set role "pg_monitor"`},
		{"table denied to anon", query.From("secrets").Columns("id"), anon, "42501", 401, dbaccess.ErrUnauthorized, "permission denied for table secrets"},
		{"table denied to a user", query.From("secrets").Columns("id"), user, "42501", 403, dbaccess.ErrPermission, "permission denied for table secrets"},
		{"value of another type", companies.Where(query.Eq("listed_on", canary)), user, "22007", 400, dbaccess.ErrInvalid, ""},
		{"number too large", query.From("sectors").Columns("id").Where(query.Eq("id", "99999999999999")), user, "22003", 400, dbaccess.ErrInvalid, ""},
		{"operator that doesn't fit", companies.Where(query.Like("listed_on", canary)), user, "42883", 404, dbaccess.ErrNotFound, ""},
		{"schema not exposed", query.From("notes").InSchema("private_api"), service, "PGRST106", 406, dbaccess.ErrNotFound, "Invalid schema: private_api"},
		{"write in a read", query.From("writing").Columns("id"), user, "25006", 405, nil, "cannot execute INSERT in a read-only transaction"},
		{"status by code", query.From("teapot").Columns("id"), user, "PT418", 418, nil, canary},
		{"whole answer raised", query.From("raised").Columns("id"), user, "123", 402, nil, canary},
		{"login role", companies, auth.Identity{Role: "authenticator", Claims: claims}, "", 403, dbaccess.ErrPermission, ""},
		{"role like none", companies, auth.Identity{Role: " none", Claims: claims}, "22023", 401, dbaccess.ErrUnauthorized, `role " none" does not exist`},
		{"role like none, too", companies, auth.Identity{Role: "none ", Claims: claims}, "22023", 401, dbaccess.ErrUnauthorized, `role "none " does not exist`},
		{"role none", companies, auth.Identity{Role: "none", Claims: claims}, "", 0, dbaccess.ErrInvalid, ""},
		{"no role", companies, auth.Identity{Claims: claims}, "", 0, dbaccess.ErrNoIdentity, ""},
		{"claims that are none", companies, auth.Identity{Role: "anon", Claims: json.RawMessage(canary)}, "", 0, dbaccess.ErrInvalid, ""},
	}
	for _, tt := range tests {
		res, err := b.Do(t.Context(), call(tt.q, tt.id))
		e, ok := err.(*dbaccess.Error)
		if !ok {
			t.Errorf("%s: error %v of type %T, want an *Error", tt.name, err, err)
			continue
		}
		type outcome struct {
			Code   string
			Status int
		}
		if diff := cmp.Diff(outcome{tt.code, tt.status}, outcome{e.Code, e.HTTPStatus}); diff != "" {
			t.Errorf("%s: %v, message %q (-want +got):\n%s", tt.name, err, e.Message(), diff)
		}
		if tt.kind != nil && !errors.Is(err, tt.kind) {
			t.Errorf("%s: %v is not %v", tt.name, err, tt.kind)
		}
		if tt.message != "" && e.Message() != tt.message {
			t.Errorf("%s: message %q, want %q", tt.name, e.Message(), tt.message)
		}
		if tt.kind != nil && e.Advice == "" {
			t.Errorf("%s: %v gives no advice", tt.name, err)
		}
		if res == nil || len(res.Phases) == 0 || res.Body != nil {
			t.Errorf("%s: result %+v, want one with phases and no body", tt.name, res)
		}
		checkNoCanary(t, tt.name, err)
	}
	if got := body(t, b, lists, anon); got != `[{"id":2,"title":"Alice public"}]` {
		t.Errorf("after all that: %s", got)
	}
}

// The hint that PostgREST passes on names the exposed schemas.
func TestSchemaHint(t *testing.T) {
	t.Parallel()
	b := open(t, direct.Config{DSN: "host=localhost", Schemas: []string{"public", "private_api"}})
	_, err := b.Do(t.Context(), call(query.From("notes").InSchema("nope"), anon))
	e, ok := err.(*dbaccess.Error)
	if !ok || e.Hint() != "Only the following schemas are exposed: public, private_api" {
		t.Errorf("error %v, want PGRST106 with a hint", err)
	}
}

// No statement runs as the login role, even one with superuser rights.
func TestLoginRoleNeverRuns(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, `create sequence public.notes_taken;
		create function public.note() returns int volatile language sql as $$ select nextval('public.notes_taken')::int $$;
		create view public.noting as select public.note() as id;`)
	cfg, err := pgconn.ParseConfig(db.SuperDSN)
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, direct.Config{DSN: db.SuperDSN, AllowPrivilegedLogin: true})
	_, err = b.Do(t.Context(), call(query.From("noting"), auth.Identity{Role: cfg.User}))
	if !errors.Is(err, dbaccess.ErrPermission) || !strings.Contains(err.Error(), "login role") {
		t.Errorf("error %v, want ErrPermission about the login role", err)
	}
	_, err = b.Do(t.Context(), call(query.From("companies").Limit(1), anon))
	if err != nil {
		t.Errorf("anonymous on a superuser's connection: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	db := pgtest.Golden(t)
	dsn := func(addr, password, database string) string {
		u := url.URL{Scheme: "postgres", User: url.UserPassword("authenticator", password), Host: addr, Path: "/" + database}
		return u.String()
	}
	tests := []struct{ name, dsn, advice string }{
		{"nobody listens", dsn(free, canary, canary), "nobody listens"},
		{"no answer", dsn(silent.Addr().String(), canary, canary), "took the connection but did not answer within ConnectTimeout"},
		{"no such host", dsn(canary+".invalid:5432", canary, canary), "host"},
		{"no TLS", dsn(db.PoolerAddr, pgtest.LoginPassword, db.Name) + "?sslmode=require", "sslmode=disable"},
		{"wrong password", dsn(db.PoolerAddr, canary, db.Name), "user and password"},
		{"no such database at the pooler", dsn(db.PoolerAddr, pgtest.LoginPassword, canary), "the DSN's database"},
		{"no such database", dsn(db.Addr, pgtest.LoginPassword, canary), "no such database"},
		{"TLS at once, to a pooler", dsn(db.PoolerAddr, pgtest.LoginPassword, db.Name) + "?sslmode=require&sslnegotiation=direct", "sslnegotiation=direct"},
		{"TLS at once, to Postgres", dsn(db.Addr, pgtest.LoginPassword, db.Name) + "?sslmode=require&sslnegotiation=direct", "sslnegotiation=direct"},
		{"standby", dsn(db.PoolerAddr, pgtest.LoginPassword, db.Name) + "?sslmode=disable&target_session_attrs=standby", "target_session_attrs"},
		{"read-only", dsn(db.PoolerAddr, pgtest.LoginPassword, db.Name) + "?sslmode=disable&target_session_attrs=read-only", "target_session_attrs"},
		{"wrong password at Postgres", dsn(db.Addr, canary, db.Name), "user and password"},
		{"no such socket", "host=/nowhere/" + canary + " user=x password=" + canary, "socket"},
	}
	for _, tt := range tests {
		b := open(t, direct.Config{DSN: tt.dsn, ConnectTimeout: time.Second})
		for how, run := range map[string]func() error{
			"Start": func() error { return b.Start(t.Context()) },
			"Do":    func() error { _, err := b.Do(t.Context(), call(lists, anon)); return err },
		} {
			err := run()
			e, ok := err.(*dbaccess.Error)
			if !ok || !errors.Is(err, dbaccess.ErrUnavailable) || errors.Is(err, dbaccess.ErrSaturated) || e.HTTPStatus != 503 || e.Code != "PGRST000" {
				t.Errorf("%s: %s: %v, want ErrUnavailable as PGRST000 with status 503", tt.name, how, err)
				continue
			}
			if !strings.Contains(e.Advice, tt.advice) {
				t.Errorf("%s: %s: advice %q, want %q in it", tt.name, how, e.Advice, tt.advice)
			}
			checkNoCanary(t, tt.name, err)
			if op := map[string]string{"Start": "connect", "Do": "select"}[how]; e.Path != dbaccess.Direct || e.Op != op {
				t.Errorf("%s: %s: path %q, operation %q", tt.name, how, e.Path, e.Op)
			}
			for u := error(e); u != nil; u = errors.Unwrap(u) {
				if _, ok := u.(*pgconn.ConnectError); ok {
					t.Errorf("%s: %s: the chain holds the connection's config, password included", tt.name, how)
				}
			}
		}
	}
}

func TestPoolerRefusals(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	t.Run("unknown database", func(t *testing.T) {
		t.Parallel()
		p := pgtest.NewPooler(t, localpg.PoolerConfig{})
		b := open(t, direct.Config{DSN: p.DSN(pgtest.LoginRole, pgtest.LoginPassword, "not_"+canary)})
		_, err := b.Do(t.Context(), call(lists, anon))
		if !errors.Is(err, dbaccess.ErrUnavailable) {
			t.Errorf("error %v, want ErrUnavailable", err)
		}
		checkNoCanary(t, "unknown database", err)
	})
	t.Run("no place for a client", func(t *testing.T) {
		t.Parallel()
		p := pgtest.NewPooler(t, localpg.PoolerConfig{MaxClients: 1})
		dsn := p.DSN(pgtest.LoginRole, pgtest.LoginPassword, db.Name)
		first := open(t, direct.Config{DSN: dsn})
		// The place may still be taken by whoever asked whether the pooler is up.
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
			err := first.Start(t.Context())
			if err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
		_, err := open(t, direct.Config{DSN: dsn}).Do(t.Context(), call(lists, anon))
		checkSaturated(t, err, "no place for another client")
	})
	t.Run("no server connection in time", func(t *testing.T) {
		t.Parallel()
		p := pgtest.NewPooler(t, localpg.PoolerConfig{PoolSize: 1, QueryWaitTimeout: time.Second})
		dsn := p.DSN(pgtest.LoginRole, pgtest.LoginPassword, db.Name)
		holder, err := pgconn.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer holder.Close(context.Background())
		if _, err := holder.Exec(t.Context(), "begin; select 1").ReadAll(); err != nil {
			t.Fatal(err)
		}
		_, err = open(t, direct.Config{DSN: dsn}).Do(t.Context(), call(lists, anon))
		checkSaturated(t, err, "no server connection")
	})
}

func checkSaturated(t *testing.T, err error, advice string) {
	t.Helper()
	e, ok := err.(*dbaccess.Error)
	if !ok || !errors.Is(err, dbaccess.ErrSaturated) || !errors.Is(err, dbaccess.ErrUnavailable) || e.Code != "PGRST003" || e.HTTPStatus != 504 {
		t.Errorf("error %v, want ErrSaturated as PGRST003 with status 504", err)
		return
	}
	if !strings.Contains(e.Advice, advice) {
		t.Errorf("advice %q, want %q in it", e.Advice, advice)
	}
}

func TestBrokenConnection(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, sleeping)
	proxy, err := wireproxy.Start(wireproxy.Config{Target: ownPooler(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close(t.Context())
	b := open(t, direct.Config{DSN: pgtest.At(t, db.PoolerDSN, proxy.Addr())})
	failed := make(chan error, 1)
	go func() {
		_, err := b.Do(t.Context(), call(query.From("sleeping"), anon))
		failed <- err
	}()
	awaitSleepers(t, db, 1)
	if err := proxy.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = <-failed
	e, ok := err.(*dbaccess.Error)
	if !ok || !errors.Is(err, dbaccess.ErrUnavailable) || e.Code != "PGRST001" || e.HTTPStatus != 503 {
		t.Errorf("error %v, want ErrUnavailable as PGRST001 with status 503", err)
	}
}
