package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/getsentry/sentry-go"
	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/example-app/adopt/internal/envelopes"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

const canary = "canary-5e11"

// TestTraces runs the program before a PgBouncer and looks at what Sentry gets.
func TestTraces(t *testing.T) {
	database := pgtest.Golden(t)
	database.Exec(t, `
		drop table if exists companies cascade;
		create table companies (ticker text primary key, name text not null, notes int not null default 0);
		create table notes (ticker text references companies, body text);
		insert into companies values ('ACME', 'Acme Inc.');
		grant select, insert, update on companies, notes to `+pgtest.LoginRole)
	server := envelopes.Start()
	defer server.Close()

	ctx, stop := context.WithCancel(t.Context())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- run(ctx, config{dsn: database.PoolerDSN, sentry: server.DSN(), addr: "127.0.0.1:0"}, func(url string) { ready <- url })
	}()
	select {
	case base := <-ready:
		get(t, base+"/companies?from="+canary, http.StatusOK)
		for range 2 {
			post(t, base+"/companies/ACME/notes", http.StatusCreated)
		}
		post(t, base+"/companies/"+canary+"/notes", http.StatusNotFound)
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
	if strings.Contains(raw, canary) {
		t.Errorf("a value is in %s", raw)
	}
	var got []string
	for _, tx := range transactions {
		got = append(got, tx.Name+" "+tx.Contexts.Trace.Status)
		for _, s := range tx.Spans {
			if s.Op != "db" {
				continue
			}
			name, _ := s.Data["db.query.name"].(string)
			got = append(got, "  "+s.Description+" ("+name+") "+s.Status)
			if s.Parent != tx.Contexts.Trace.ID {
				t.Errorf("%s is not under its request", s.Description)
			}
		}
	}
	want := []string{
		"GET /companies ok", "  select companies (ListCompanies) ok",
		"POST /companies/:ticker/notes ok", "  update companies (CountNote) ok", "  insert notes (AddNote) ok",
		"POST /companies/:ticker/notes ok", "  update companies (CountNote) ok", "  insert notes (AddNote) ok",
		"POST /companies/:ticker/notes not_found", "  update companies (CountNote) ok",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}

	// The first request made the connection, and says how long which part took.
	var first envelopes.Span
	steps := map[string]bool{}
	for _, s := range transactions[0].Spans {
		steps[s.Description] = true
		if s.Op == "db" {
			first = s
		}
	}
	for _, step := range []string{"acquire", "connect: tcp", "connect: startup"} {
		if !steps[step] {
			t.Errorf("no span %s among %v", step, steps)
		}
	}
	for key, want := range map[string]any{
		"db.system": "postgresql", "db.operation.name": "select", "db.collection.name": "companies",
		"db.connection": "new", "cold": true, "db.response.returned_rows": 0.0,
	} {
		if first.Data[key] != want {
			t.Errorf("%s is %v, want %v", key, first.Data[key], want)
		}
	}
	if ms, _ := first.Data["db.phase.connect.startup_ms"].(float64); ms <= 0 {
		t.Errorf("the first query says %v", first.Data)
	}
	if update := transactions[1].Spans[0].Data; update["db.transaction"] != true || update["db.phase.begin_ms"] == nil {
		t.Errorf("the transaction's first statement says %v", update)
	}
}

func get(t *testing.T, address string, want int) {
	t.Helper()
	resp, err := http.Get(address)
	check(t, resp, err, want)
}

func post(t *testing.T, address string, want int) {
	t.Helper()
	resp, err := http.PostForm(address, url.Values{"body": {canary}})
	check(t, resp, err, want)
}

func check(t *testing.T, resp *http.Response, err error, want int) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != want {
		t.Errorf("status %d, want %d: %s", resp.StatusCode, want, body)
	}
}
