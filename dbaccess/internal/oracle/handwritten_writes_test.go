package oracle_test

import (
	"encoding/json"

	"github.com/twinpath/twinpath/dbaccess/query"
)

type watchlist struct {
	ID     int64  `json:"id,omitzero"`
	Owner  string `json:"owner"`
	Title  string `json:"title"`
	Public bool   `json:"is_public"`
}

// write is a statement in a sequence of writes, each of which meets what those
// before it left.
type write struct {
	name string
	statement
}

const (
	aliceID = "11111111-1111-1111-1111-111111111111"
	bobID   = "22222222-2222-2222-2222-222222222222"
)

// writes are to be done in order.
func writes() []write {
	return []write{
		{"insert, returning a default", statement{as: "alice",
			query: query.Insert("watchlists", map[string]any{"owner": aliceID, "title": `New, "quoted"`}),
			sql:   `insert into watchlists (owner, title) values ('` + aliceID + `', 'New, "quoted"') returning *`}},
		{"insert, typed", statement{as: "alice", verb: all[watchlist],
			query: query.Insert("watchlists", []watchlist{{ID: 500, Owner: aliceID, Title: "a", Public: true}, {ID: 501, Owner: aliceID, Title: "b"}}),
			sql:   `insert into watchlists (id, owner, title, is_public) values (500, '` + aliceID + `', 'a', true), (501, '` + aliceID + `', 'b', false) returning id, owner, title, is_public`}},
		{"insert for another", statement{as: "alice",
			query: query.Insert("watchlists", map[string]any{"owner": bobID, "title": "not mine"}),
			sql:   `insert into watchlists (owner, title) values ('` + bobID + `', 'not mine') returning *`, code: "42501"}},
		{"insert as anon", statement{
			query: query.Insert("watchlists", map[string]any{"owner": aliceID, "title": "x"}),
			sql:   `insert into watchlists (owner, title) values ('` + aliceID + `', 'x') returning *`, code: "42501"}},
		{"insert, Exec", statement{as: "alice", verb: exec, whole: true,
			query: query.Insert("watchlist_items", []map[string]any{{"watchlist_id": 500, "ticker": "T01"}, {"watchlist_id": 500, "ticker": "T02"}}),
			sql:   `with i as (insert into watchlist_items (watchlist_id, ticker) values (500, 'T01'), (500, 'T02') returning 1) select count(*) from i`}},
		{"insert, rows of different columns", statement{as: "alice",
			query: query.Insert("watchlist_items", []map[string]any{{"watchlist_id": 501, "ticker": "T03", "position": 7}, {"watchlist_id": 501, "ticker": "T04"}}).Columns("ticker", "position", "added_at"),
			sql:   `insert into watchlist_items (watchlist_id, ticker, position) values (501, 'T03', 7), (501, 'T04', default) returning ticker, position, added_at`}},
		{"insert of a NULL where there is a default", statement{as: "alice",
			query: query.Insert("watchlist_items", map[string]any{"watchlist_id": 501, "ticker": "T05", "position": nil}),
			sql:   `insert into watchlist_items (watchlist_id, ticker, position) values (501, 'T05', null) returning *`, code: "23502"}},
		{"insert of nothing", statement{as: "alice", query: query.Insert("watchlists", []watchlist{}), whole: true, sql: `select '[]'`}},
		{"insert of every type", statement{as: "service",
			query: query.Insert("all_types", json.RawMessage(`{"id": 90, "c_bool": false, "c_int8": 9223372036854775807, "c_numeric": 1.10, "c_text": "a\"b\\c\n🚀", "c_bytea": "\\x00ff", "c_timestamptz": "2026-01-01T00:00:00+09:00",
				"c_json": {"b": 1, "a": [1.0, null]}, "c_jsonb": {"b": 1, "a": [1.0, null]}, "c_int_arr": [1, null], "c_text_arr": ["a,b", null, ""], "c_matrix": [[1, 2], [3, 4]], "c_enum": "sell", "c_int4range": "[1,3]", "c_interval": "1 day", "c_xml": "<a/>"}`)),
			sql: `insert into all_types (id, c_bool, c_int8, c_numeric, c_text, c_bytea, c_timestamptz, c_json, c_jsonb, c_int_arr, c_text_arr, c_matrix, c_enum, c_int4range, c_interval, c_xml)
				values (90, false, 9223372036854775807, 1.10, E'a"b\\c\n🚀', '\x00ff', '2025-12-31 15:00+00', '{"b": 1, "a": [1.0, null]}', '{"b": 1, "a": [1.0, null]}', array[1, null], array['a,b', null, ''], '{{1,2},{3,4}}', 'sell', int4range(1, 4), '1 day', '<a/>') returning *`}},
		{"insert with odd names", statement{as: "alice",
			query: query.Insert("Odd Table", map[string]any{"Id": 9, `quote"col`: `"`, "comma,col": ",", "한글": "글", "and": nil}).Columns("Id", `quote"col`, "한글"),
			sql:   `insert into "Odd Table" ("Id", "quote""col", "comma,col", "한글") values (9, '"', ',', '글') returning "Id", "quote""col", "한글"`}},
		{"insert of a column that there isn't", statement{as: "alice", query: query.Insert("companies", map[string]any{"ticker": "X", "nope": 1}), code: "PGRST204"}},
		{"insert of rows that differ into no table", statement{as: "alice", query: query.Insert("nope", json.RawMessage(`[{"a":1},{"b":1}]`)), code: "PGRST102"}},
		{"insert into no table", statement{as: "alice", query: query.Insert("nope", map[string]any{"a": 1}), code: "PGRST205"}},
		{"insert of a row that is there", statement{as: "alice",
			query: query.Insert("companies", map[string]any{"ticker": "T01", "name": "again"}),
			sql:   `insert into companies (ticker, name) values ('T01', 'again') returning *`, code: "23505"}},
		{"insert against a check", statement{as: "alice",
			query: query.Insert("companies", map[string]any{"ticker": "lower", "name": "x"}),
			sql:   `insert into companies (ticker, name) values ('lower', 'x') returning *`, code: "23514"}},
		{"insert without its parent", statement{as: "alice",
			query: query.Insert("companies", []map[string]any{{"ticker": "OK", "name": "x", "sector_id": 1}, {"ticker": "BAD", "name": "y", "sector_id": 77}}),
			sql:   `insert into companies (ticker, name, sector_id) values ('OK', 'x', 1), ('BAD', 'y', 77) returning *`, code: "23503"}},
		{"insert returning related rows", statement{as: "alice", whole: true,
			query: query.Insert("companies", []map[string]any{{"ticker": "NEW1", "name": "One", "sector_id": 2}, {"ticker": "NEW2", "name": "Two", "sector_id": nil}}).Select(query.Col("ticker"), query.Rel("sectors", query.Col("name"))),
			sql: `with i as (insert into companies (ticker, name, sector_id) values ('NEW1', 'One', 2), ('NEW2', 'Two', null) returning *)
				select json_agg(t) from (select ticker, (select to_jsonb(x) from (select s.name from sectors s where s.id = i.sector_id) x) as sectors from i) t`}},

		{"merge", statement{as: "alice",
			query: query.Insert("companies", []map[string]any{{"ticker": "NEW1", "name": "One, merged"}, {"ticker": "NEW3", "name": "Three"}}).Merge().Columns("ticker", "name", "sector_id"),
			sql: `insert into companies (ticker, name) values ('NEW1', 'One, merged'), ('NEW3', 'Three')
				on conflict (ticker) do update set ticker = excluded.ticker, name = excluded.name returning ticker, name, sector_id`}},
		{"merge by another key", statement{as: "alice",
			query: query.Insert("watchlists", map[string]any{"owner": aliceID, "title": "a", "is_public": false}).Merge("owner", "title"),
			sql: `insert into watchlists (owner, title, is_public) values ('` + aliceID + `', 'a', false)
				on conflict (owner, title) do update set is_public = excluded.is_public returning *`}},
		{"ignore", statement{as: "alice",
			query: query.Insert("companies", []map[string]any{{"ticker": "NEW1", "name": "no"}, {"ticker": "NEW4", "name": "Four"}}).Ignore().Columns("ticker"),
			sql:   `insert into companies (ticker, name) values ('NEW1', 'no'), ('NEW4', 'Four') on conflict (ticker) do nothing returning ticker`}},
		{"ignore, Exec", statement{as: "service", verb: exec, whole: true,
			query: query.Insert("sectors", []map[string]any{{"id": 1, "name": "no"}, {"id": 9, "name": "Nine"}, {"id": 10, "name": "Sector 4"}}).Ignore("id"),
			sql:   `with i as (insert into sectors values (1, 'no'), (9, 'Nine'), (10, 'Sector 4') on conflict (id) do nothing returning 1) select count(*) from i`, code: "23505"}},
		{"merge with a key that there isn't", statement{as: "alice",
			query: query.Insert("companies", map[string]any{"ticker": "NEW1", "name": "x"}).Merge("name"),
			sql:   `insert into companies (ticker, name) values ('NEW1', 'x') on conflict (name) do update set name = excluded.name returning *`, code: "42P10"}},
		{"merge the same row twice", statement{as: "alice",
			query: query.Insert("companies", []map[string]any{{"ticker": "NEW1", "name": "x"}, {"ticker": "NEW1", "name": "y"}}).Merge(),
			sql:   `insert into companies (ticker, name) values ('NEW1', 'x'), ('NEW1', 'y') on conflict (ticker) do update set name = excluded.name returning *`, code: "21000"}},

		{"update", statement{as: "alice",
			query: query.Update("companies", map[string]any{"name": "Renamed", "market_cap": "1.10"}).Where(query.In("ticker", "NEW1", "NEW2", "none")).Columns("ticker", "name", "market_cap").OrderBy(query.Desc("ticker")), whole: true,
			sql: `with u as (update companies set name = 'Renamed', market_cap = 1.10 where ticker in ('NEW1', 'NEW2', 'none') returning ticker, name, market_cap) select json_agg(u order by ticker desc) from u`}},
		{"update to NULL", statement{as: "alice", query: query.Update("companies", map[string]any{"market_cap": nil}).Where(query.Eq("ticker", "NEW2")), sql: `update companies set market_cap = null where ticker = 'NEW2' returning *`}},
		{"update of nobody", statement{as: "alice", query: query.Update("companies", map[string]any{"name": "x"}).Where(query.Eq("ticker", "none")), sql: `update companies set name = 'x' where ticker = 'none' returning *`}},
		{"update of what others own", statement{as: "bob", verb: exec, whole: true, query: query.Update("watchlists", map[string]any{"title": "stolen"}).Where(query.Lte("id", 3)),
			sql: `with u as (update watchlists set title = 'stolen' where id <= 3 returning 1) select count(*) from u`}},
		{"update by JSON and arrays", statement{as: "alice", query: query.Update("insider_transactions", map[string]any{"tags": []string{"a,b", `c"d`, ""}, "meta": map[string]any{"form": "5"}}).
			Where(query.Eq(query.JSONText("meta", "form"), "4"), query.Lt("id", 5)).Columns("id", "tags", "meta"),
			sql: `update insider_transactions set tags = array['a,b', 'c"d', ''], meta = '{"form": "5"}' where meta ->> 'form' = '4' and id < 5 returning id, tags, meta`}},
		{"update returning related rows", statement{as: "alice", whole: true,
			query: query.Update("watchlists", map[string]any{"is_public": true}).Where(query.Eq("id", 501)).Select(query.Col("title"), query.Rel("watchlist_items", query.Col("ticker")).Sort(query.Asc("ticker"))),
			sql: `with u as (update watchlists set is_public = true where id = 501 returning *)
				select json_agg(t) from (select title, (select json_agg(x) from (select ticker from watchlist_items i where i.watchlist_id = u.id order by ticker) x) as watchlist_items from u) t`}},
		{"update of all", statement{as: "alice", verb: exec, whole: true, query: query.Update("Odd Table", map[string]any{"order": 5}).Where(query.AllRows()),
			sql: `with u as (update "Odd Table" set "order" = 5 returning 1) select count(*) from u`}},
		{"update of too many", statement{as: "alice", query: query.Update("companies", map[string]any{"name": "x"}).Where(query.Like("ticker", "NEW%")).MaxAffected(2), code: "PGRST124"}},
		{"update of not too many", statement{as: "alice", query: query.Update("companies", map[string]any{"name": "y"}).Where(query.In("ticker", "NEW3", "NEW4")).MaxAffected(2), sql: `update companies set name = 'y' where ticker in ('NEW3', 'NEW4') returning *`}},
		{"update of one that is several", statement{as: "alice", query: query.Update("companies", map[string]any{"name": "z"}).Where(query.Like("ticker", "NEW%")), verb: only[company], code: "PGRST116"}},
		{"update of one", statement{as: "alice", query: query.Update("companies", map[string]any{"name": "z"}).Where(query.Eq("ticker", "NEW1")), verb: only[company], whole: true,
			sql: `with u as (update companies set name = 'z' where ticker = 'NEW1' returning ticker, name, sector_id) select row_to_json(u) from u`}},
		{"update with a wrong type", statement{as: "alice", query: query.Update("companies", map[string]any{"sector_id": "one"}).Where(query.Eq("ticker", "NEW1")), sql: `update companies set sector_id = 'one'::text::int where ticker = 'NEW1' returning *`, code: "22P02"}},
		{"update without the right", statement{as: "bob", query: query.Update("sectors", map[string]any{"name": "x"}).Where(query.Eq("id", 1)), sql: `update sectors set name = 'x' where id = 1 returning *`, code: "42501"}},

		{"delete", statement{as: "alice", query: query.Delete("companies").Where(query.Eq("ticker", "NEW4")).Columns("ticker"), sql: `delete from companies where ticker = 'NEW4' returning ticker`}},
		{"delete, Exec", statement{as: "alice", verb: exec, whole: true, query: query.Delete("companies").Where(query.Or(query.Eq("ticker", "NEW3"), query.Eq("name", "none"))), sql: `with d as (delete from companies where ticker = 'NEW3' or name = 'none' returning 1) select count(*) from d`}},
		{"delete of what has children", statement{as: "alice", query: query.Delete("companies").Where(query.Eq("ticker", "T01")), sql: `delete from companies where ticker = 'T01' returning *`, code: "23503"}},
		{"delete that cascades", statement{as: "alice", verb: exec, whole: true, query: query.Delete("watchlists").Where(query.Gte("id", 500)), sql: `with d as (delete from watchlists where id >= 500 returning 1) select count(*) from d`}},
		{"delete of what others own", statement{as: "bob", verb: exec, whole: true, query: query.Delete("watchlists").Where(query.AllRows()), sql: `with d as (delete from watchlists returning 1) select count(*) from d`}},
		{"delete of too many", statement{as: "service", query: query.Delete("prices").Where(query.Eq("ticker", "T01")).MaxAffected(9), code: "PGRST124"}},
		// Constraints are checked before the rows are counted.
		{"delete of too many that have children", statement{as: "alice", query: query.Delete("companies").Where(query.AllRows()).MaxAffected(1), sql: `delete from companies returning *`, code: "23503"}},
		{"delete of several that have children", statement{as: "alice", verb: only[company], query: query.Delete("companies").Where(query.AllRows()), sql: `delete from companies returning *`, code: "23503"}},
		{"delete of one of none", statement{as: "alice", query: query.Delete("companies").Where(query.Eq("ticker", "none")), verb: only[company], code: "PGRST116"}},

		{"a function that writes", statement{as: "alice", whole: true, query: query.Call("touch_profile", map[string]string{"new_handle": `al"ice`}), sql: `select row_to_json(t) from touch_profile('al"ice') t`}},
		{"a function that must not write", statement{as: "alice", query: query.Call("touch_profile", map[string]string{"new_handle": "x"}).ReadOnly(), code: "25006"}},
		{"a function that may not write", statement{query: query.Call("touch_profile", map[string]string{"new_handle": "x"}), sql: `select * from touch_profile('x')`, code: "42501"}},
	}
}
