package parity_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// shelf is a table that everybody may write to, with what can go wrong at the
// commit.
const shelf = `
create table shelf (id int primary key, title text not null default 'untitled', at timestamptz, tags text[], meta jsonb, price numeric(10, 3));
insert into shelf (id, title) values (1, 'one'), (2, 'two');
create table leaf (id int primary key, shelf int references shelf deferrable initially deferred);
grant all on shelf, leaf to anon, authenticated;
create function rename_all(title text) returns setof shelf language sql as $$ update shelf set title = rename_all.title returning * $$;`

type volume struct {
	ID    int             `db:"id"`
	Title string          `db:"title"`
	At    *time.Time      `db:"at"`
	Tags  []string        `db:"tags"`
	Meta  json.RawMessage `db:"meta"`
	Price *float64        `db:"price"`
}

type fields = map[string]any

// Each step is taken on both sides; answers, errors and the tables afterwards are
// the same.
func TestWrites(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 3, 4, 5, 6, 789000, time.FixedZone("", 9*3600))
	everything := query.Update("shelf", fields{"title": "x"}).Where(query.AllRows())
	both := sides(t, shelf)
	for _, step := range []struct {
		name   string
		q      question
		failed string // code
	}{
		{"insert", exec(anon, query.Insert("shelf", fields{"id": 3, "title": "three"})), ""},
		{"insert a struct", one[volume](anon, query.Insert("shelf", volume{ID: 4, Title: `fo"u\r`, At: &at, Tags: []string{"a b", ""}, Meta: json.RawMessage(`{"n":1.10}`)})), ""},
		{"insert many", all[volume](anon, query.Insert("shelf", []fields{{"id": 5}, {"id": 6, "title": "six", "price": "1.5"}})), ""},
		{"insert again", exec(anon, query.Insert("shelf", fields{"id": 3})), "23505"},
		{"insert none", exec(anon, query.Insert("shelf", []fields{})), ""},
		{"ignore", all[volume](anon, query.Insert("shelf", []fields{{"id": 3, "title": "drei"}, {"id": 7, "title": "sieben"}}).Ignore()), ""},
		{"merge", all[volume](anon, query.Insert("shelf", []fields{{"id": 3, "title": "drei"}, {"id": 8, "title": "acht"}}).Merge("id")), ""},
		{"update", exec(anon, query.Update("shelf", fields{"title": "zwei", "tags": nil}).Where(query.Eq("id", 2))), ""},
		{"update nothing", exec(anon, query.Update("shelf", fields{"title": "zwei"}).Where(query.Eq("id", 99))), ""},
		{"update one", one[volume](anon, query.Update("shelf", fields{"price": 2}).Where(query.Eq("id", 2))), ""},
		{"update one of many", one[volume](anon, everything), "PGRST116"},
		{"update one of none", one[volume](anon, query.Update("shelf", fields{"title": "x"}).Where(query.Eq("id", 99))), "PGRST116"},
		{"update too many", exec(anon, everything.MaxAffected(3)), "PGRST124"},
		{"update without a value", exec(anon, query.Update("shelf", fields{"title": nil}).Where(query.Eq("id", 1))), "23502"},
		{"delete too many", exec(anon, query.Delete("shelf").Where(query.AllRows()).MaxAffected(1)), "PGRST124"},
		{"delete", exec(anon, query.Delete("shelf").Where(query.In("id", 7, 8))), ""},
		{"delete one", one[volume](anon, query.Delete("shelf").Where(query.Eq("id", 6))), ""},
		{"commit", exec(anon, query.Insert("leaf", fields{"id": 1, "shelf": 99})), "23503"},
		{"column", exec(anon, query.Insert("shelf", fields{"id": 9, "colour": "red"})), "PGRST204"},
		{"table", exec(anon, query.Insert("shelves", fields{"id": 9})), "PGRST205"},
		{"type", exec(anon, query.Insert("shelf", fields{"id": "nine"})), "22P02"},
		{"call", all[volume](anon, query.Call("rename_all", fields{"title": "same"}).Where(query.Lt("id", 3)).OrderBy(query.Asc("id"))), ""},
		{"call that must not write", exec(anon, query.Call("rename_all", fields{"title": "other"}).ReadOnly()), "25006"},
		{"call for too many", one[volume](anon, query.Call("rename_all", fields{"title": "other"})), "PGRST116"},

		{"alice inserts", one[list](alice, query.Insert("watchlists", fields{"owner": aliceID, "title": "New"})), ""},
		{"alice inserts for bob", exec(alice, query.Insert("watchlists", fields{"owner": bobID, "title": "New"})), "42501"},
		{"anonymous inserts", exec(anon, query.Insert("watchlists", fields{"owner": bobID, "title": "New"})), "42501"},
		{"bob renames all he can", exec(bob, query.Update("watchlists", fields{"title": "Bob's"}).Where(query.AllRows())), ""},
		{"alice gives away", exec(alice, query.Update("watchlists", fields{"owner": bobID}).Where(query.Eq("id", 1))), "42501"},
		{"anonymous removes", exec(anon, query.Delete("watchlists").Where(query.AllRows())), "42501"},
		{"bob removes alice's", exec(bob, query.Delete("watchlists").Where(query.Eq("id", 1))), ""},
		{"alice removes hers", exec(alice, query.Delete("watchlists").Where(query.Eq("id", 1))), ""},
		{"profile", one[struct {
			Handle string `db:"handle"`
		}](alice, query.Call("touch_profile", fields{"new_handle": "alice2"})), ""},
	} {
		answer, f := compare(t, both, step.q)
		code := ""
		if f != nil {
			code = f.Code
		}
		if code != step.failed {
			t.Errorf("%s: code %q, want %q (%+v, %v)", step.name, code, step.failed, f, answer)
		}
		for table, key := range map[string]string{"shelf": "id", "leaf": "id", "watchlists": "id", "watchlist_items": "watchlist_id, ticker", "profiles": "id"} {
			if diff := cmp.Diff(both[0].table(t, table, key), both[1].table(t, table, key)); diff != "" {
				t.Fatalf("after %s, %s (-%s +%s):\n%s", step.name, table, both[0].path, both[1].path, diff)
			}
		}
	}
	if got := both[0].table(t, "leaf", "id"); got != "[]" {
		t.Errorf("a leaf of no shelf was added: %s", got)
	}
}

// Ten thousand rows go in by one statement.
func TestManyRows(t *testing.T) {
	t.Parallel()
	rows := make([]fields, 10_000)
	for i := range rows {
		rows[i] = fields{"id": 100 + i, "title": "volume"}
	}
	both := sides(t, shelf)
	if got, f := compare(t, both, exec(anon, query.Insert("shelf", rows))); got != int64(len(rows)) {
		t.Errorf("%v rows, %+v", got, f)
	}
}
