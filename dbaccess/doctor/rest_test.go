package doctor_test

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess/doctor"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func TestREST(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	healthy := standIn(t, postgresttest.Config{DSN: db.DirectDSN})
	old := standIn(t, postgresttest.Config{DSN: db.DirectDSN, Version: "14.1", APIKey: "k3y-canary"})
	for _, tt := range []struct {
		name     string
		cfg      doctor.Config
		id       string
		severity doctor.Severity
		words    []string
	}{
		{"the secret", doctor.Config{RESTURL: healthy, JWTSecret: secret}, "rest.token", doctor.OK, []string{"no others"}},
		{"another secret", doctor.Config{RESTURL: healthy, JWTSecret: "another secret of thirty-two bytes, canary"}, "rest.token", doctor.Error, []string{"refuses a token"}},
		{"a short secret", doctor.Config{RESTURL: healthy, JWTSecret: "canary"}, "rest.token", doctor.Error, []string{"32 bytes"}},
		{"no secret", doctor.Config{RESTURL: healthy}, "rest.token", doctor.Info, []string{"not examined"}},
		{"no such schema", doctor.Config{RESTURL: healthy, Schema: "other"}, "rest.schema", doctor.Error, []string{"other is not exposed"}},
		{"old", doctor.Config{RESTURL: old, APIKey: "k3y-canary"}, "rest.version", doctor.Warning, []string{"14.1", "upgrade"}},
		{"without the key", doctor.Config{RESTURL: old}, "rest.http", doctor.Error, []string{"apikey"}},
		{"a slash at the end", doctor.Config{RESTURL: healthy + "/"}, "rest.http", doctor.OK, nil},
		{"no URL", doctor.Config{RESTURL: "localhost:3000"}, "rest.url", doctor.Error, []string{"https://host"}},
		{"a user in the URL", doctor.Config{RESTURL: "http://u:canary@127.0.0.1:1"}, "rest.url", doctor.Error, []string{"without a user"}},
		{"a key of two lines", doctor.Config{RESTURL: healthy, APIKey: "canary\nx"}, "rest.url", doctor.Error, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := run(t, tt.cfg)
			wantFinding(t, r, tt.id, tt.severity, tt.words...)
			checkNoSecret(t, r, "canary", secret)
			wantNone(t, r, "direct.dsn", "same.database")
		})
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	r := run(t, doctor.Config{RESTURL: "http://" + l.Addr().String()})
	wantFinding(t, r, "rest.tcp", doctor.Error, "nobody listens")
}

// behind answers as a PostgREST behind a gateway does.
func behind(change func(w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		change(w, r)
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"code":"PGRST205","message":"no table","details":null,"hint":null}`))
	}
}

func TestGateway(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		change   func(http.ResponseWriter, *http.Request)
		id       string
		severity doctor.Severity
		words    []string
	}{
		{"hides the version", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Server", "cloudflare") }, "rest.version", doctor.Info, []string{"ServerVersion"}},
		{"drops tokens", func(http.ResponseWriter, *http.Request) {}, "rest.token", doctor.Error, []string{"nobody signed", "pass the header on"}},
		{"clock behind", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(-time.Minute).UTC().Format(http.TimeFormat))
		}, "clock.rest", doctor.Error, []string{"behind", "NTP"}},
		{"clock a little ahead", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(15*time.Second).UTC().Format(http.TimeFormat))
		}, "clock.rest", doctor.Warning, []string{"ahead of"}},
		{"no clock", func(w http.ResponseWriter, _ *http.Request) { w.Header()["Date"] = nil }, "clock.rest", doctor.Info, []string{"no date"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			web := httptest.NewServer(behind(tt.change))
			defer web.Close()
			wantFinding(t, run(t, doctor.Config{RESTURL: web.URL, JWTSecret: secret}), tt.id, tt.severity, tt.words...)
		})
	}

	web := httptest.NewUnstartedServer(behind(func(http.ResponseWriter, *http.Request) {}))
	web.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.StartTLS()
	defer web.Close()
	wantFinding(t, run(t, doctor.Config{RESTURL: web.URL}), "rest.tls", doctor.Error, "not trusted", "ca-certificates")
}
