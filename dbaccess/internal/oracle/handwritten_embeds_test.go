package oracle_test

import "github.com/twinpath/twinpath/dbaccess/query"

type tagged struct {
	Ticker string `json:"ticker"`
	Sector *struct {
		Name string `json:"name"`
	} `json:"sector" embed:"sectors"`
	Parent *struct {
		Name      string   `json:"name"`
		MarketCap *float64 `json:"market_cap"`
	} `json:"parent" embed:"parent_ticker!inner"`
}

// embeds are reads of related rows and calls of functions.
func embeds() map[string]statement {
	companies := query.From("companies").OrderBy(query.Asc("ticker"))
	return map[string]statement{
		"many to one": {
			query: companies.Select(query.Col("ticker"), query.Rel("sectors", query.Col("name"))),
			sql:   `select ticker, (select to_jsonb(x) from (select s.name from sectors s where s.id = c.sector_id) x) as sectors from companies c order by ticker`,
		},
		"one to many": {
			query: query.From("sectors").Select(query.Star{}, query.Rel("companies", query.Col("ticker"), query.Col("listed_on").As("since")).Sort(query.Desc("ticker"))).OrderBy(query.Asc("id")),
			sql:   `select s.*, coalesce((select json_agg(x) from (select ticker, listed_on as since from companies c where c.sector_id = s.id order by ticker desc) x), '[]') as companies from sectors s order by id`,
		},
		"nobody related": {
			query: companies.Select(query.Col("ticker"), query.Rel("prices", query.Col("close"))).Where(query.Gt("ticker", "T18")),
			sql:   `select ticker, '[]'::json as prices from companies where ticker > 'T18' order by ticker`,
		},
		"many to many": {
			query: query.From("indexes").Select(query.Col("code"), query.Rel("companies", query.Col("ticker"), query.Rel("sectors", query.Col("id"))).Sort(query.Asc("ticker"))).OrderBy(query.Asc("code")),
			sql: `select code, coalesce((select json_agg(x) from (select c.ticker, (select to_jsonb(y) from (select s.id from sectors s where s.id = c.sector_id) y) as sectors
				from index_members m join companies c on c.ticker = m.ticker where m.code = i.code order by c.ticker) x), '[]') as companies from indexes i order by code`,
		},
		"many to many, back": {
			query: companies.Select(query.Col("ticker"), query.Rel("indexes", query.Col("name")).By("index_members").Sort(query.Asc("code"))).Where(query.In("ticker", "T01", "T09", "T20")),
			sql: `select ticker, coalesce((select json_agg(x) from (select i.name from index_members m join indexes i using (code) where m.ticker = c.ticker order by code) x), '[]') as indexes
				from companies c where ticker in ('T01', 'T09', 'T20') order by ticker`,
		},
		"a parent": {
			query: companies.Select(query.Col("ticker"), query.Rel("parent_ticker", query.Col("name"), query.Col("ticker")).As("parent")),
			sql:   `select ticker, (select to_jsonb(x) from (select p.name, p.ticker from companies p where p.ticker = c.parent_ticker) x) as parent from companies c order by ticker`,
		},
		"children": {
			query: companies.Select(query.Col("ticker"), query.Rel("companies", query.Col("ticker")).As("children").Sort(query.Asc("ticker"))).Where(query.Lt("ticker", "T03")),
			sql:   `select ticker, coalesce((select json_agg(x) from (select k.ticker from companies k where k.parent_ticker = c.ticker order by k.ticker) x), '[]') as children from companies c where ticker < 'T03' order by ticker`,
		},
		"two ways, told apart": {
			query: query.From("insider_transactions").Select(query.Col("id"),
				query.Rel("insiders", query.Col("full_name")).By("insider_id").As("by"),
				query.Rel("insiders", query.Col("full_name")).By("insider_transactions_approver_fkey").As("approved")).Where(query.Lte("id", 8)).OrderBy(query.Asc("id")),
			sql: `select t.id, jsonb_build_object('full_name', i.full_name) as by, case when a.id is not null then jsonb_build_object('full_name', a.full_name) end as approved
				from insider_transactions t join insiders i on i.id = t.insider_id left join insiders a on a.id = t.approved_by where t.id <= 8 order by t.id`,
		},
		"two ways, not told apart": {query: query.From("insider_transactions").Select(query.Rel("insiders")), code: "PGRST201"},
		"no way":                   {query: query.From("sectors").Select(query.Rel("profiles")), code: "PGRST200"},
		"inner": {
			query: companies.Select(query.Col("ticker"), query.Rel("sectors", query.Col("name")).InnerJoin().Filter(query.In("id", 1, 3))),
			sql:   `select ticker, jsonb_build_object('name', s.name) as sectors from companies c join sectors s on s.id = c.sector_id where s.id in (1, 3) order by ticker`,
		},
		"inner, to many": {
			query: query.From("sectors").Select(query.Col("id"), query.Rel("companies", query.Col("ticker")).InnerJoin().Filter(query.IsNull("market_cap")).Sort(query.Asc("ticker"))).OrderBy(query.Asc("id")),
			sql:   `select s.id, json_agg(json_build_object('ticker', c.ticker) order by c.ticker) as companies from sectors s join companies c on c.sector_id = s.id where c.market_cap is null group by s.id order by s.id`,
		},
		"not inner": {
			query: companies.Select(query.Col("ticker"), query.Rel("sectors", query.Col("name")).Filter(query.Eq("id", 1))),
			sql:   `select ticker, (select to_jsonb(x) from (select s.name from sectors s where s.id = c.sector_id and s.id = 1) x) as sectors from companies c order by ticker`,
		},
		"for the condition alone": {
			query: companies.Select(query.Col("ticker"), query.Rel("sectors").InnerJoin().Filter(query.Eq("name", "Sector 2"))),
			sql:   `select ticker from companies join sectors s on s.id = sector_id where s.name = 'Sector 2' order by ticker`,
		},
		"without any": {
			query: companies.Select(query.Col("ticker"), query.Rel("insider_transactions")).Where(query.IsNull("insider_transactions")),
			sql:   `select ticker from companies c where not exists (select from insider_transactions t where t.ticker = c.ticker) order by ticker`,
		},
		"with any that meet a condition": {
			query: companies.Select(query.Col("ticker"), query.Rel("insider_transactions").Filter(query.Gt("shares", 985))).Where(query.Not(query.IsNull("insider_transactions"))),
			sql:   `select ticker from companies c where exists (select from insider_transactions t where t.ticker = c.ticker and shares > 985) order by ticker`,
		},
		"a child or a name": {
			query: companies.Select(query.Col("ticker"), query.Rel("parent_ticker").As("parent")).Where(query.Or(query.IsNotNull("parent"), query.Eq("ticker", "T02"))),
			sql:   `select c.ticker from companies c left join companies p on p.ticker = c.parent_ticker where p.ticker is not null or c.ticker = 'T02' order by c.ticker`,
		},
		"spread": {
			query: companies.Select(query.Col("ticker"), query.Rel("sectors", query.Col("name").As("sector"), query.Col("id")).Spreading()),
			sql:   `select c.ticker, s.name as sector, s.id from companies c left join sectors s on s.id = c.sector_id order by c.ticker`,
		},
		"spread of many": {
			query: query.From("sectors").Select(query.Col("id"), query.Rel("companies", query.Col("ticker").As("tickers"), query.Col("sector_id")).Spreading().Sort(query.Desc("ticker"))).OrderBy(query.Asc("id")),
			sql: `select s.id, coalesce((select json_agg(c.ticker order by c.ticker desc) from companies c where c.sector_id = s.id), '[]') as tickers,
				coalesce((select json_agg(c.sector_id) from companies c where c.sector_id = s.id), '[]') as sector_id from sectors s order by s.id`,
		},
		"an embed in a spread": {
			query: query.From("prices").Select(query.Col("day"), query.Rel("companies", query.Col("name"), query.Rel("sectors", query.Col("name"))).Spreading()).Where(query.Eq("day", "2026-03-01")).OrderBy(query.Asc("ticker")),
			sql: `select p.day, c.name, (select to_jsonb(x) from (select s.name from sectors s where s.id = c.sector_id) x) as sectors
				from prices p join companies c using (ticker) where p.day = '2026-03-01' order by p.ticker`,
		},
		"by a related column": {
			query: query.From("companies").Select(query.Col("ticker"), query.Rel("sectors", query.Col("name"))).OrderBy(query.Desc("name").Of("sectors"), query.Asc("ticker")),
			sql:   `select ticker, case when s.id is not null then jsonb_build_object('name', s.name) end as sectors from companies c left join sectors s on s.id = c.sector_id order by s.name desc, ticker`,
		},
		"by a column of many": {query: query.From("sectors").Select(query.Col("id"), query.Rel("companies")).OrderBy(query.Asc("ticker").Of("companies")), code: "PGRST118"},
		"the last two of each": {
			query: companies.Select(query.Col("ticker"), query.Rel("insider_transactions", query.Col("id"), query.Col("shares")).As("last").Sort(query.Desc("filed_at")).Top(2).Skip(1)).Where(query.Lt("ticker", "T05")),
			sql: `select ticker, coalesce((select json_agg(x) from (select id, shares from insider_transactions t where t.ticker = c.ticker order by filed_at desc limit 2 offset 1) x), '[]') as last
				from companies c where ticker < 'T05' order by ticker`,
		},
		"logic inside": {
			query: companies.Select(query.Col("ticker"), query.Rel("insider_transactions", query.Col("id")).As("t").Filter(
				query.Or(query.Eq("kind", "gift"), query.Not(query.Like("note", "%plan%"))), query.Contains("tags", []string{"late"})).Sort(query.Asc("id"))).Where(query.Lte("ticker", "T04")),
			sql: `select ticker, coalesce((select json_agg(x) from (select id from insider_transactions t where t.ticker = c.ticker and (kind = 'gift' or not note like '%plan%') and tags @> '{late}' order by id) x), '[]') as t
				from companies c where ticker <= 'T04' order by ticker`,
		},
		"three deep": {
			query: query.From("sectors").Select(query.Col("id"), query.Rel("companies", query.Col("ticker"),
				query.Rel("insider_transactions", query.Col("id"), query.Rel("insiders", query.Col("full_name")).By("insider_id").As("who")).As("filings").Filter(query.Gt("shares", 800)).Sort(query.Asc("id"))).
				Sort(query.Asc("ticker"))).Where(query.Lte("id", 2)).OrderBy(query.Asc("id")),
			sql: `select s.id, coalesce((select json_agg(x) from (select c.ticker, coalesce((select json_agg(y) from (
					select t.id, (select to_jsonb(z) from (select i.full_name from insiders i where i.id = t.insider_id) z) as who
					from insider_transactions t where t.ticker = c.ticker and t.shares > 800 order by t.id) y), '[]') as filings
				from companies c where c.sector_id = s.id order by c.ticker) x), '[]') as companies from sectors s where s.id <= 2 order by s.id`,
		},
		"inner through two": {
			query: query.From("sectors").Select(query.Col("id"), query.Rel("companies", query.Rel("insider_transactions").InnerJoin().Filter(query.Eq("id", 14))).InnerJoin()).OrderBy(query.Asc("id")),
			sql:   `select distinct s.id from sectors s join companies c on c.sector_id = s.id join insider_transactions t on t.ticker = c.ticker where t.id = 14`,
		},
		"a view of a relation": {
			query: query.From("insider_transactions").Select(query.Col("id"), query.Rel("company_summary", query.Col("filings"))).Where(query.Lt("id", 4)).OrderBy(query.Asc("id")),
			sql:   `select t.id, (select to_jsonb(x) from (select v.filings from company_summary v where v.ticker = t.ticker) x) as company_summary from insider_transactions t where t.id < 4 order by t.id`,
		},
		"values through jsonb": {
			query: companies.Select(query.Col("ticker"), query.Rel("prices", query.Col("close"), query.Col("volume")).Filter(query.Eq("day", "2026-03-02"))).Where(query.Eq("ticker", "T01")),
			sql:   `select 'T01' as ticker, json_build_array(json_build_object('close', close, 'volume', volume)) as prices from prices where ticker = 'T01' and day = '2026-03-02'`,
		},
		"struct tags": {
			query: companies, verb: all[tagged],
			sql: `select c.ticker, case when s.id is not null then jsonb_build_object('name', s.name) end as sector, jsonb_build_object('name', p.name, 'market_cap', p.market_cap) as parent
				from companies c left join sectors s on s.id = c.sector_id join companies p on p.ticker = c.parent_ticker order by c.ticker`,
		},
		"lists and items of alice": {
			as:    "alice",
			query: query.From("watchlists").Select(query.Col("title"), query.Rel("watchlist_items", query.Col("ticker")).Sort(query.Asc("position")), query.Rel("profiles", query.Col("handle"))).OrderBy(query.Asc("id")),
			sql: `select title, coalesce((select json_agg(x) from (select ticker from watchlist_items i where i.watchlist_id = w.id order by position) x), '[]') as watchlist_items,
				(select jsonb_build_object('handle', handle) from profiles p where p.id = owner) as profiles from watchlists w order by id`,
		},
		"items that anon may see": {
			query: query.From("watchlist_items").Select(query.Star{}, query.Rel("watchlists", query.Col("title"), query.Col("owner"))).OrderBy(query.Asc("ticker")),
			sql:   `select i.*, (select to_jsonb(x) from (select w.title, w.owner from watchlists w where w.id = i.watchlist_id) x) as watchlists from watchlist_items i order by ticker`,
		},
		"names that need quotes": {
			query: companies.Select(query.Col("ticker").As("t,k"), query.Rel("sectors", query.Col("name").As("n.m")).As(`se"ct (or)`).Filter(query.Neq("name", `a,"b)`))).Where(query.Eq("ticker", "T02")),
			sql:   `select ticker as "t,k", (select to_jsonb(x) from (select s.name as "n.m" from sectors s where s.id = c.sector_id and s.name <> 'a,"b)') x) as "se""ct (or)" from companies c where ticker = 'T02'`,
		},
	}
}

// calls are embeds, and calls of functions that change nothing.
func calls() map[string]statement {
	m := embeds()
	add := func(name string, s statement) { m[name] = s }
	add("a scalar", statement{query: query.Call("add_them", map[string]int{"a": 2, "b": 3}), whole: true, sql: `select to_json(add_them(2, 3))`})
	add("a default", statement{query: query.Call("add_them", map[string]int{"a": 2}), whole: true, sql: `select to_json(add_them(a => 2))`})
	add("a scalar, typed", statement{query: query.Call("add_them", map[string]int{"a": -2}), verb: only[int], whole: true, sql: `select add_them(-2)`})
	add("no such argument", statement{query: query.Call("add_them", map[string]int{"c": 2}), code: "PGRST202"})
	add("no such function", statement{query: query.Call("subtract", nil), code: "PGRST202"})
	add("rows", statement{
		query: query.Call("top_traders", map[string]any{"min_shares": 950}).Columns("id", "shares").Where(query.Neq("kind", "gift")).OrderBy(query.Desc("shares"), query.Asc("id")).Limit(3),
		sql:   `select id, shares from top_traders(950) where kind <> 'gift' order by shares desc, id limit 3`,
	})
	add("rows with embeds", statement{
		query: query.Call("top_traders", map[string]any{"min_shares": "970.5"}).Select(query.Col("id"), query.Rel("companies", query.Col("name"))).OrderBy(query.Asc("id")),
		sql:   `select f.id, jsonb_build_object('name', c.name) as companies from top_traders(970.5) f join companies c using (ticker) order by f.id`,
	})
	add("rows, counted", statement{query: query.Call("top_traders", nil).Where(query.Eq("kind", "buy")).ReadOnly(), verb: count, whole: true, sql: `select count(*) from top_traders() where kind = 'buy'`})
	add("a table", statement{query: query.Call("company_stats", map[string]string{"ticker": "T03"}), sql: `select * from company_stats('T03')`})
	add("a set of scalars", statement{query: query.Call("pick", map[string]int{"n": 3}), whole: true, sql: `select json_agg(p) from pick(3) p`})
	add("an array", statement{query: query.Call("echo_array", map[string]any{"xs": []any{1, nil, 3}}), whole: true, sql: `select to_json(echo_array(array[1, null, 3]))`})
	add("JSON", statement{query: query.Call("echo_json", map[string]any{"payload": map[string]any{"a": []any{"x\"y", nil, 1.5}, "b": "🚀"}}), whole: true, sql: `select echo_json('{"a": ["x\"y", null, 1.5], "b": "🚀"}')`})
	add("JSON, NULL", statement{query: query.Call("echo_json", map[string]any{"payload": nil}), whole: true, sql: `select 'null'::json`})
	add("nothing", statement{query: query.Call("noop", nil), verb: exec, whole: true, sql: `select '0' from noop()`})
	add("who, anon", statement{query: query.Call("who_am_i", nil), whole: true, sql: `select who_am_i()`})
	add("who, alice", statement{as: "alice", query: query.Call("who_am_i", nil), whole: true, sql: `select who_am_i()`})
	add("who, service", statement{as: "service", query: query.Call("who_am_i", nil).ReadOnly(), whole: true, sql: `select who_am_i()`})
	add("in another schema", statement{query: query.Call("hidden", nil).InSchema("private_api"), whole: true, sql: `select private_api.hidden()`})
	add("a failure", statement{query: query.Call("fail_with", map[string]string{"code": "23505", "msg": "it's so"}), sql: `select fail_with('23505', 'it''s so')`, code: "23505"})
	add("a failure of one's own", statement{query: query.Call("fail_with", map[string]string{"code": "PT418"}), sql: `select fail_with('PT418')`, code: "PT418"})
	return m
}
