package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/getsentry/sentry-go"
	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/example-app/adopt/internal/envelopes"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

const canary = "canary-8b20"

// TestTraces runs the program before a stand-in for PostgREST and looks at what
// Sentry gets.
func TestTraces(t *testing.T) {
	database := pgtest.Golden(t)
	database.Exec(t, `
		drop table if exists companies cascade;
		create table companies (ticker text primary key, name text not null);
		insert into companies values ('ACME', 'Acme Inc.');
		grant select on companies to anon;
		create function shout(word text) returns text language sql stable as $$ select upper(word) $$`)
	rest, err := postgresttest.NewServer(postgresttest.Config{DSN: database.DirectDSN, ServerTiming: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rest.Close(); err != nil {
			t.Error(err)
		}
	}()
	server := envelopes.Start()
	defer server.Close()

	ctx, stop := context.WithCancel(t.Context())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- run(ctx, config{url: rest.URL, sentry: server.DSN(), addr: "127.0.0.1:0"}, func(url string) { ready <- url })
	}()
	select {
	case base := <-ready:
		get(t, base+"/companies/ACME", http.StatusOK, "Acme Inc.")
		get(t, base+"/companies/"+canary, http.StatusNotFound, "no such company")
		get(t, base+"/shout/"+canary, http.StatusOK, strings.ToUpper(canary))
	case err := <-done:
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	sentry.CurrentHub().Client().Close()

	transactions, raw, err := server.Received()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.ToLower(raw), canary) {
		t.Errorf("a value is in %s", raw)
	}
	var got []string
	for _, tx := range transactions {
		got = append(got, tx.Name+" "+tx.Contexts.Trace.Status)
		for _, s := range tx.Spans {
			if s.Op != "http.client" {
				continue
			}
			got = append(got, "  "+strings.ReplaceAll(s.Description, rest.URL, "…")+" "+s.Status+", connection "+s.Data["http.connection"].(string))
			if s.Parent != tx.Contexts.Trace.ID {
				t.Errorf("%s is not under its request", s.Description)
			}
			if ms, _ := s.Data["http.phase.wait.postgrest.transaction_ms"].(float64); ms <= 0 {
				t.Errorf("%s does not tell PostgREST's time: %v", s.Description, s.Data)
			}
		}
	}
	want := []string{
		"GET /companies/:ticker ok", "  GET …/companies ok, connection new",
		"GET /companies/:ticker not_found", "  GET …/companies ok, connection idle",
		"GET /shout/:word ok", "  POST …/rpc/shout ok, connection idle",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func get(t *testing.T, address string, status int, body string) {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != status || !strings.Contains(string(b), body) {
		t.Errorf("%s: status %d, %s", address, resp.StatusCode, b)
	}
}
