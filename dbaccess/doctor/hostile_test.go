package doctor_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/twinpath/twinpath/dbaccess/doctor"
	"github.com/twinpath/twinpath/internal/localpg"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// budget is the time that the examinations below have, and patience what closing
// connections may add on a machine that is busy.
const (
	budget   = 6 * time.Second
	patience = 6 * time.Second
)

func wantInBudget(t *testing.T, r doctor.Report) {
	t.Helper()
	if r.Took > budget+patience {
		t.Errorf("took %s, which is more than its %s", r.Took, budget)
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	files, others := newCertificates(t), newCertificates(t)
	pooler := pgtest.NewPooler(t, localpg.PoolerConfig{Settings: map[string]string{
		"client_tls_sslmode": "allow", "client_tls_key_file": files.key, "client_tls_cert_file": files.cert,
	}})
	_, port, err := net.SplitHostPort(pooler.Addr())
	if err != nil {
		t.Fatal(err)
	}
	dsn := func(params string) string {
		return "postgres://" + pgtest.LoginRole + ":" + pgtest.LoginPassword + "@localhost:" + port + "/" + db.Name + "?" + params
	}
	for _, tt := range []struct {
		name, params, id string
		severity         doctor.Severity
		words            []string
	}{
		{"verified", "sslmode=verify-full&sslrootcert=" + files.ca, "direct.tls", doctor.OK, []string{"verify-full"}},
		{"only the issuer", "sslmode=verify-ca&sslrootcert=" + files.ca, "direct.tls", doctor.OK, []string{"verify-ca"}},
		{"unverified", "sslmode=require", "direct.tls", doctor.Info, []string{"nobody looks at", "verify-full"}},
		{"of another authority", "sslmode=verify-full&sslrootcert=" + others.ca, "direct.tls", doctor.Error, []string{"no TLS session", "not trusted"}},
		{"not in the system's store", "sslrootcert=system", "direct.tls", doctor.Error, []string{"no TLS session", "not trusted"}},
		{"without TLS", "sslmode=disable", "direct.tls", doctor.OK, []string{"on this machine alone"}},
		{"straight with TLS", "sslmode=require&sslnegotiation=direct", "direct.tls", doctor.Error, []string{"sslnegotiation=direct"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := run(t, doctor.Config{DirectDSN: dsn(tt.params)})
			wantFinding(t, r, tt.id, tt.severity, tt.words...)
			wantFinding(t, r, "direct.dns", doctor.OK, "localhost has")
		})
	}
}

// loggedIn lets anybody in and leaves the rest to serve.
func loggedIn(serve func(*pgproto3.Backend, net.Conn)) func(net.Conn) {
	return func(conn net.Conn) {
		b := pgproto3.NewBackend(conn, conn)
		if _, err := b.ReceiveStartupMessage(); err != nil {
			return
		}
		b.Send(&pgproto3.AuthenticationOk{})
		b.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{1, 2, 3, 4}})
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		if b.Flush() == nil {
			serve(b, conn)
		}
	}
}

func TestHostilePostgres(t *testing.T) {
	t.Parallel()
	hang := func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }
	row := &pgproto3.DataRow{Values: [][]byte{[]byte(strings.Repeat("canary ", 1000))}}
	for _, tt := range []struct {
		name  string
		serve func(net.Conn)
		id    string
	}{
		{"hangs", hang, "direct.login"},
		{"hangs up", func(net.Conn) {}, "direct.login"},
		{"talks garbage", func(conn net.Conn) {
			_, _ = conn.Write([]byte("SSH-2.0-canary\r\n" + strings.Repeat("x", 10000)))
			hang(conn)
		}, "direct.login"},
		{"is a web server", func(conn net.Conn) {
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\ncanary"))
		}, "direct.login"},
		{"wants TLS", refuse("08P01", "SSL required"), "direct.login"},
		{"refuses in an unknown way", refuse("canary", "canary for user canary"), "direct.login"},
		{"announces a message of a gigabyte", func(conn net.Conn) {
			_, _ = conn.Write([]byte{'R', 0x3f, 0xff, 0xff, 0xff})
			hang(conn)
		}, "direct.login"},
		{"hangs after the login", loggedIn(func(_ *pgproto3.Backend, conn net.Conn) { hang(conn) }), "direct.version"},
		{"answers with rows without end", loggedIn(func(b *pgproto3.Backend, conn net.Conn) {
			go hang(conn)
			b.Send(&pgproto3.ParseComplete{})
			b.Send(&pgproto3.BindComplete{})
			b.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("x"), DataTypeOID: 25, DataTypeSize: -1}}})
			for b.Flush() == nil {
				for range 100 {
					b.Send(row)
				}
			}
		}), "direct.version"},
		{"answers everything with an error", loggedIn(func(b *pgproto3.Backend, _ net.Conn) {
			for {
				m, err := b.Receive()
				if err != nil {
					return
				}
				switch m.(type) {
				case *pgproto3.Sync, *pgproto3.Query:
					b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "XX000", Message: "canary"})
					b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
					if b.Flush() != nil {
						return
					}
				}
			}
		}), "direct.version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			addr := listen(t, tt.serve)
			r := run(t, doctor.Config{DirectDSN: "postgres://app:canary@" + addr + "/db?sslmode=disable", SessionDSN: "postgres://app:canary@" + addr + "/db?sslmode=disable", Timeout: budget})
			wantFinding(t, r, tt.id, doctor.Error)
			wantInBudget(t, r)
			checkNoSecret(t, r, "canary")
		})
	}
}

func TestHostileREST(t *testing.T) {
	t.Parallel()
	const canary = "c4n4ry"
	object := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Server", "postgrest/"+canary+"<b>")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, tt := range []struct {
		name   string
		handle http.HandlerFunc
		id     string
		words  []string
	}{
		{"no PostgREST", object(404, `<html>`+canary), "rest.http", []string{"no PostgREST"}},
		{"another API", object(404, `{"error":"`+canary+`"}`), "rest.http", []string{"no PostgREST"}},
		{"an error without a code that can be", object(404, `{"code":"`+canary+`","message":""}`), "rest.http", []string{"no PostgREST"}},
		{"no key", object(401, `{"message":"No API key found in request","hint":"`+canary+`"}`), "rest.http", []string{"apikey"}},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.invalid/"+canary, http.StatusFound)
		}, "rest.http", []string{"redirects"}},
		{"a gateway without PostgREST", object(503, canary), "rest.http", []string{"gateway"}},
		{"PostgREST without a database", object(503, `{"code":"PGRST002","message":"`+canary+`"}`), "rest.http", []string{"can't reach its database"}},
		{"an error of another kind", object(400, `{"code":"PGRST100","message":"`+canary+`"}`), "rest.http", []string{"PGRST100"}},
		{"a body without end", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("[", 4096)); err != nil {
					return
				}
			}
		}, "rest.http", []string{"no PostgREST"}},
		{"a header without end", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		}, "rest.http", nil},
		{"silence", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "rest.http", []string{"in time"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			web := httptest.NewServer(tt.handle)
			defer web.Close()
			r := run(t, doctor.Config{RESTURL: web.URL, JWTSecret: secret, Timeout: budget})
			wantFinding(t, r, tt.id, doctor.Error, tt.words...)
			wantNone(t, r, "rest.token")
			wantInBudget(t, r)
			checkNoSecret(t, r, canary, secret)
		})
	}
	addr := listen(t, func(conn net.Conn) { _, _ = conn.Write([]byte("garbage\r\n\r\n")) })
	r := run(t, doctor.Config{RESTURL: "http://" + addr, Timeout: budget})
	wantFinding(t, r, "rest.http", doctor.Error, "does not speak HTTP")
}
