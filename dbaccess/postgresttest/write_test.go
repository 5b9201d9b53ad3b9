package postgresttest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// shelf is a table that everybody may write to, and what its writes can bring
// about.
const shelf = `
create table shelf (id int primary key, title text not null default 'untitled');
insert into shelf values (1, 'one'), (2, 'two');
create table leaf (id int primary key, shelf int references shelf deferrable initially deferred);
grant all on shelf, leaf to anon;
create function answer(status text, headers text) returns int language sql as $$
  select set_config('response.status', status, true), set_config('response.headers', headers, true);
  select 42 $$;
create function refuse() returns void language plpgsql as $$ begin
  raise sqlstate 'PGRST' using message = '{"code":"OUT","message":"no more","hint":"wait"}', detail = '{"status":429,"headers":{"Retry-After":"7"}}';
end $$;
create function add_leaf(shelf int) returns void language sql as $$ insert into leaf values (1, add_leaf.shelf) $$;
create function level() returns text stable language sql set default_transaction_isolation to 'serializable' as
  $$ select current_setting('transaction_isolation') || ' ' || current_setting('transaction_read_only') $$;
create function write_anyway() returns int stable language plpgsql as $$ begin perform add_leaf(1); return 1; end $$;`

// titles are the titles on the shelf.
func titles(t *testing.T, srv *postgresttest.Server) string {
	t.Helper()
	r := get(t, srv, "/shelf?select=title&order=id")
	var rows []struct{ Title string }
	if err := json.Unmarshal([]byte(r.body), &rows); err != nil {
		t.Fatalf("status %d: %s", r.status, r.body)
	}
	var all []string
	for _, row := range rows {
		all = append(all, row.Title)
	}
	return strings.Join(all, ",")
}

func TestWrites(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		method, target, body string
		headers              []string
		rollback             bool
		status               int
		code                 string // of an error
		answer               string // of a success
		applied              string // Preference-Applied
		after                string // the titles then
	}{
		"insert": {
			method: "POST", target: "/shelf", body: `{"id":3,"title":"three"}`,
			status: 201, after: "one,two,three",
		},
		"the default": {
			method: "POST", target: "/shelf?select=title&columns=id,title", body: `[{"id":3}]`, headers: []string{"Prefer", "return=representation,missing=default"},
			status: 201, answer: `[{"title":"untitled"}]`, applied: "missing=default, return=representation", after: "one,two,untitled",
		},
		"put": {
			method: "PUT", target: "/shelf?id=eq.2", body: `{"id":2,"title":"deux"}`,
			status: 204, after: "one,deux",
		},
		"put elsewhere": {
			method: "PUT", target: "/shelf?id=eq.2", body: `{"id":1,"title":"deux"}`,
			status: 400, code: "PGRST115", after: "one,two",
		},
		"single": {
			method: "PATCH", target: "/shelf", body: `{"title":"x"}`, headers: []string{"Accept", "application/vnd.pgrst.object+json", "Prefer", "return=representation"},
			status: 406, code: "PGRST116", after: "one,two",
		},
		"too many": {
			method: "DELETE", target: "/shelf", headers: []string{"Prefer", "handling=strict,max-affected=1"},
			status: 400, code: "PGRST124", after: "one,two",
		},
		"lenient": {
			method: "DELETE", target: "/shelf", headers: []string{"Prefer", "max-affected=1"},
			status: 204, after: "",
		},
		"rollback ignored": {
			method: "DELETE", target: "/shelf?id=eq.1", headers: []string{"Prefer", "tx=rollback"},
			status: 204, after: "two",
		},
		"rollback": {
			method: "DELETE", target: "/shelf?id=eq.1", headers: []string{"Prefer", "tx=rollback"}, rollback: true,
			status: 204, applied: "tx=rollback", after: "one,two",
		},
		"at the commit": {
			method: "POST", target: "/leaf", body: `{"id":1,"shelf":7}`,
			status: 409, code: "23503", after: "one,two",
		},
		"at the commit that a rollback stands for": {
			method: "POST", target: "/rpc/add_leaf", body: `{"shelf":7}`, headers: []string{"Prefer", "tx=rollback"}, rollback: true,
			status: 409, code: "23503", after: "one,two",
		},
		"unknown column": {
			method: "POST", target: "/shelf", body: `{"id":3,"colour":"red"}`,
			status: 400, code: "PGRST204", after: "one,two",
		},
		"isolation": {
			method: "POST", target: "/rpc/level", status: 200, answer: `"serializable on"`, after: "one,two",
		},
		"a stable function that writes": {
			method: "POST", target: "/rpc/write_anyway", status: 405, code: "25006", after: "one,two",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.Golden(t)
			db.Exec(t, shelf)
			srv := serve(t, postgresttest.Config{DSN: db.DirectDSN, AllowRollback: tt.rollback})
			r := send(t, tt.method, srv.URL+tt.target, tt.body, tt.headers...)
			if r.status != tt.status {
				t.Fatalf("status %d, want %d: %s", r.status, tt.status, r.body)
			}
			if tt.code != "" {
				if got := r.code(t); got != tt.code {
					t.Errorf("code %s, want %s", got, tt.code)
				}
			} else if diff := cmp.Diff(tt.answer, r.body); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
			if got := r.header.Get("Preference-Applied"); got != tt.applied {
				t.Errorf("Preference-Applied = %q, want %q", got, tt.applied)
			}
			if got := titles(t, srv); got != tt.after {
				t.Errorf("on the shelf are %q, want %q", got, tt.after)
			}
		})
	}
}

func TestDatabaseShapesTheAnswer(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, shelf)
	srv := serve(t, postgresttest.Config{DSN: db.DirectDSN})
	call := func(body string) response { return send(t, http.MethodPost, srv.URL+"/rpc/answer", body) }

	r := call(`{"status":"202","headers":"[{\"X-Seen\":\"yes\"},{\"Content-Type\":\"text/plain\"}]"}`)
	if r.status != 202 || r.body != "42" || r.header.Get("X-Seen") != "yes" || r.header.Get("Content-Type") != "text/plain" {
		t.Errorf("status %d, headers %v, body %s", r.status, r.header, r.body)
	}
	if r := call(`{"status":"teapot","headers":null}`); r.status != 500 || r.code(t) != "PGRST112" {
		t.Errorf("status %d, %s; want PGRST112", r.status, r.body)
	}
	if r := call(`{"status":null,"headers":"{}"}`); r.status != 500 || r.code(t) != "PGRST111" {
		t.Errorf("status %d, %s; want PGRST111", r.status, r.body)
	}
	r = send(t, http.MethodPost, srv.URL+"/rpc/refuse", "")
	if r.status != 429 || r.code(t) != "OUT" || r.header.Get("Retry-After") != "7" {
		t.Errorf("status %d, headers %v, body %s", r.status, r.header, r.body)
	}
}

// As in PostgREST, what is new is not there before a reload.
func TestReloadSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	srv := serve(t, postgresttest.Config{DSN: db.DirectDSN})
	get(t, srv, "/companies?limit=0")
	db.Exec(t, shelf)
	if r := get(t, srv, "/shelf"); r.status != 404 || r.code(t) != "PGRST205" {
		t.Errorf("before: status %d: %s", r.status, r.body)
	}
	srv.ReloadSchema()
	if got := titles(t, srv); got != "one,two" {
		t.Errorf("after: %q", got)
	}
}
