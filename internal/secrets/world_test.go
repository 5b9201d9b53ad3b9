package secrets_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/latency"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
	"github.com/twinpath/twinpath/internal/wireproxy"
	"github.com/twinpath/twinpath/tracing"
)

// The secrets, each where its name says.
const (
	login     = "twinpath_secretive"
	password  = canary + "-dsn-password"
	apiKey    = canary + "-api-key"
	jwtSecret = canary + "-jwt-secret-of-at-least-32-bytes"
	email     = canary + "-claim@example.org"
	value     = canary + "-value"
)

const schema = `
do $$ begin
  if not exists (select from pg_roles where rolname = 'twinpath_secretive') then
    create role twinpath_secretive login noinherit;
  end if;
end $$;
grant anon, authenticated to twinpath_secretive;
create table shelf (id int primary key, title text not null unique check (title <> 'no'), size int check (size > 0), maybe text);
create table leaf (id int primary key, shelf int references shelf deferrable initially deferred);
grant all on shelf, leaf to anon, authenticated;
create function quote_back(code text, v text) returns void language plpgsql as $$
  begin raise exception using errcode = code, message = 'message ' || v, detail = 'detail ' || v, hint = 'hint ' || v; end $$;
create function raise_pgrst(v text) returns void language plpgsql as $$
  begin raise sqlstate 'PGRST' using message = json_build_object('code', '123', 'message', v, 'details', v, 'hint', v)::text,
    detail = '{"status":422,"headers":{"X-Own":"' || v || '"}}'; end $$;
create function nap(seconds float8, v text) returns void language plpgsql as $$ begin perform pg_sleep(seconds); end $$;
create function heard() returns text stable language sql as
  $$ select concat(current_setting('request.headers', true), current_setting('request.cookies', true), current_setting('request.jwt.claims', true)) $$;`

// world is an application, with the databases that it may have.
type world struct {
	*outputs
	signer *jwt.HS256
	report *latency.Recorder

	fine        *dbaccess.DB
	unreachable *dbaccess.DB // nobody listens
	unwelcome   *dbaccess.DB // wrong password, wrong key
	gateway     *dbaccess.DB // something else answers, and repeats what it got
	cut         *dbaccess.DB // answers break off
	moved       *dbaccess.DB // redirects
	garbled     *dbaccess.DB // answers that are no JSON
	unsigned    *dbaccess.DB // a signer that talks too much
	closed      *dbaccess.DB
	proxies     []*wireproxy.Proxy // in front of fine
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{outputs: newOutputs(t), report: latency.NewRecorder(latency.RecorderConfig{})}
	database := pgtest.Golden(t)
	database.Exec(t, schema+"alter role "+login+" password '"+password+"';")
	var err error
	if w.signer, err = jwt.NewHS256(jwt.Config{Secret: []byte(jwtSecret)}); err != nil {
		t.Fatal(err)
	}
	dsn := func(addr, password string) string {
		return (&url.URL{Scheme: "postgres", User: url.UserPassword(login, password), Host: addr, Path: "/" + database.Name, RawQuery: "sslmode=disable"}).String()
	}
	pooler := pgtest.NewPooler(t, localpg.PoolerConfig{Users: map[string]string{login: password}})
	srv, err := postgresttest.NewServer(postgresttest.Config{DSN: dsn(database.Addr, password), JWTSecret: jwtSecret, APIKey: apiKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Errorf("close the stand-in: %v", err)
		}
	})
	restProxy, directProxy := w.proxied(strings.TrimPrefix(srv.URL, "http://")), w.proxied(pooler.Addr())

	w.fine = w.open(rest.Config{URL: "http://" + restProxy, APIKey: apiKey, Signer: w.signer}, direct.Config{DSN: dsn(directProxy, password)})
	w.unreachable = w.open(rest.Config{URL: "http://127.0.0.1:1", APIKey: apiKey, Signer: w.signer}, direct.Config{DSN: dsn("127.0.0.1:1", password)})
	w.unwelcome = w.open(rest.Config{URL: srv.URL, APIKey: apiKey + "-wrong", Signer: w.signer}, direct.Config{DSN: dsn(database.Addr, password+"-wrong")})
	w.gateway = w.open(rest.Config{URL: web(t, repeat), APIKey: apiKey, Signer: w.signer}, direct.Config{DSN: dsn(refusing(t), password)})
	w.moved = w.open(rest.Config{URL: web(t, func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "http://elsewhere.invalid/?"+r.URL.RawQuery+"&key="+r.Header.Get("Apikey"), http.StatusFound)
	}), APIKey: apiKey, Signer: w.signer}, direct.Config{DSN: dsn(pooler.Addr(), password+"-wrong")})
	w.garbled = w.open(rest.Config{URL: web(t, func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.Header().Set("Content-Range", "0-0/*")
		_, _ = io.WriteString(rw, `[{"id":"`+value+`","title":`+value)
	}), APIKey: apiKey, Signer: w.signer}, direct.Config{DSN: dsn(garbling(t), password)})
	w.cut = w.open(rest.Config{URL: web(t, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		rw.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(rw, `[{"id":1,"title":"`+value)
	}), APIKey: apiKey, Signer: w.signer}, direct.Config{DSN: dsn(hangingUp(t), password)})
	w.unsigned = w.open(rest.Config{URL: srv.URL, APIKey: apiKey, Signer: indiscreet{}}, direct.Config{DSN: dsn("127.0.0.1:1", password)})
	w.closed = w.open(rest.Config{URL: srv.URL, APIKey: apiKey}, direct.Config{DSN: dsn(pooler.Addr(), password)})
	if err := w.closed.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// proxied puts a proxy in front of an address.
func (w *world) proxied(addr string) string {
	w.Helper()
	p, err := wireproxy.Start(wireproxy.Config{Target: addr})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			w.Errorf("close a proxy: %v", err)
		}
	})
	w.proxies = append(w.proxies, p)
	return p.Addr()
}

func (w *world) open(r rest.Config, d direct.Config) *dbaccess.DB {
	w.Helper()
	restPath, err := rest.New(r)
	if err != nil {
		w.Fatal(err)
	}
	directPath, err := direct.New(d)
	if err != nil {
		w.Fatal(err)
	}
	db, err := dbaccess.New(dbaccess.Config{
		REST: restPath, Direct: directPath, MaxRows: 5, ForwardHeaders: []string{"X-Tenant", "Cookie"}, Logger: w.log,
		Observers: []dbaccess.Observer{tracing.NewObserver(tracing.Always()), w.report, &telltale{w.outputs}},
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := db.Close(ctx); err != nil {
			w.Errorf("close: %v", err)
		}
	})
	return db
}

// telltale is an observer that writes all that it is told into the log, but for
// the query's content.
type telltale struct{ *outputs }

func (o *telltale) CallStart(ctx context.Context, s dbaccess.CallStart) context.Context {
	s.Query = nil
	o.log.Debug("start", "call", fmt.Sprintf("%+v", s))
	return ctx
}

func (o *telltale) CallEnd(_ context.Context, e dbaccess.CallEnd) {
	o.log.Debug("end", "name", e.Name, "status", e.Status, "phases", e.Phases, "err", e.Err)
}

// indiscreet fails, and says all that it knows.
type indiscreet struct{}

func (indiscreet) Sign(context.Context, auth.Identity) (string, error) {
	return "", errors.New("the key " + jwtSecret + " is of no use for " + email)
}

func (indiscreet) Verify(_ context.Context, token string) (auth.Identity, error) {
	return auth.Identity{}, errors.New("the key " + jwtSecret + " could not be asked about " + token)
}

// repeat answers as gateways do, with a page for people that has all of the request.
func repeat(rw http.ResponseWriter, r *http.Request) {
	header, _ := json.Marshal(r.Header)
	body, _ := io.ReadAll(r.Body)
	rw.Header().Set("Content-Type", "text/html")
	rw.Header().Set("X-Request", r.URL.String())
	rw.WriteHeader(http.StatusBadGateway)
	_, _ = fmt.Fprintf(rw, "<html><h1>502</h1>%s %s %s</html>", r.URL, header, body)
}

func web(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// postgres serves connections, after their first message, until the test ends.
func postgres(t *testing.T, serve func(b *pgproto3.Backend)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
				b := pgproto3.NewBackend(conn, conn)
				if _, err := b.ReceiveStartupMessage(); err == nil {
					serve(b)
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// refusing asks for the password in plain, and repeats it.
func refusing(t *testing.T) string {
	t.Helper()
	return postgres(t, func(b *pgproto3.Backend) {
		b.Send(&pgproto3.AuthenticationCleartextPassword{})
		_ = b.Flush()
		_ = b.SetAuthType(pgproto3.AuthTypeCleartextPassword)
		m, err := b.Receive()
		if err != nil {
			return
		}
		said := ""
		if p, ok := m.(*pgproto3.PasswordMessage); ok {
			said = p.Password
		}
		b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "28P01", Message: "the password " + said + " is wrong", Detail: said, Hint: said})
		_ = b.Flush()
	})
}

// garbling lets everybody in, and answers each batch with an error of no known code
// that repeats it.
func garbling(t *testing.T) string {
	t.Helper()
	return postgres(t, func(b *pgproto3.Backend) {
		admit(b)
		var args []string
		for {
			m, err := b.Receive()
			if err != nil {
				return
			}
			switch m := m.(type) {
			case *pgproto3.Bind:
				for _, p := range m.Parameters {
					args = append(args, string(p))
				}
			case *pgproto3.Sync:
				b.Send(&pgproto3.NoticeResponse{Severity: "WARNING", Code: "01000", Message: strings.Join(args, " ")})
				b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "XX000", Message: strings.Join(args, " "), Detail: strings.Join(args, " "), Where: value, InternalQuery: value, ColumnName: value})
				b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
				args = nil
				if b.Flush() != nil {
					return
				}
			}
		}
	})
}

// hangingUp lets everybody in, and is gone at the first statement.
func hangingUp(t *testing.T) string {
	t.Helper()
	return postgres(t, func(b *pgproto3.Backend) {
		admit(b)
		_, _ = b.Receive()
	})
}

func admit(b *pgproto3.Backend) {
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{0, 0, 0, 1}})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	_ = b.Flush()
}

// who is a caller with claims to keep.
func (w *world) who() auth.Identity {
	return auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"` + canary + `-sub","email":"` + email + `"}`)}
}

func shelf() query.Query { return query.From("shelf") }
