package oracle_test

import (
	"encoding/json"
	"time"

	"github.com/twinpath/twinpath/dbaccess/query"
)

type company struct {
	Ticker string `json:"ticker"`
	Name   string `json:"name"`
	Sector *int   `json:"sector_id"`
}

type filing struct {
	ID      int64           `json:"id"`
	Kind    string          `json:"kind"`
	Shares  json.Number     `json:"shares"`
	Note    *string         `json:"note"`
	Tags    []string        `json:"tags"`
	Meta    json.RawMessage `json:"meta"`
	Settled *string         `json:"settled"`
}

// reads are reads of tables and views, by what they are about.
func reads() map[string]statement {
	companies := query.From("companies").Columns("ticker").OrderBy(query.Asc("ticker"))
	filings := query.From("insider_transactions").Columns("id").OrderBy(query.Asc("id"))
	types := query.From("all_types").Columns("id").OrderBy(query.Asc("id"))
	odd := query.From("Odd Table").Columns("Id").OrderBy(query.Asc("Id"))
	since := time.Date(2026, 1, 5, 9, 0, 0, 0, time.FixedZone("KST", 9*3600))
	return map[string]statement{
		// Comparisons.
		"eq":                      {query: companies.Where(query.Eq("name", "Company 5")), sql: `select ticker from companies where name = 'Company 5' order by ticker`},
		"neq leaves NULL out":     {query: companies.Where(query.Neq("sector_id", 2)), sql: `select ticker from companies where sector_id <> 2 order by ticker`},
		"gt and lte":              {query: companies.Where(query.Gt("market_cap", 3e9), query.Lte("market_cap", "9876543120.96")), sql: `select ticker from companies where market_cap > 3000000000 and market_cap <= 9876543120.96 order by ticker`},
		"gte and lt of times":     {query: filings.Where(query.Gte("filed_at", since), query.Lt("filed_at", since.Add(48*time.Hour))), sql: `select id from insider_transactions where filed_at >= '2026-01-05 00:00:00+00' and filed_at < '2026-01-07 00:00:00+00' order by id`},
		"dates":                   {query: query.From("prices").Columns("ticker", "day").Where(query.Gt("day", "2026-03-08")).OrderBy(query.Asc("ticker"), query.Desc("day")), sql: `select ticker, day from prices where day > date '2026-03-08' order by ticker, day desc`},
		"an enum":                 {query: filings.Where(query.Eq("kind", "grant")), sql: `select id from insider_transactions where kind = 'grant' order by id`},
		"a bigint beyond float64": {query: types.Where(query.Eq("c_int8", int64(9007199254740993))), sql: `select id from all_types where c_int8 = 9007199254740993 order by id`},
		"NaN equals itself":       {query: types.Where(query.Eq("c_numeric", "NaN")), sql: `select id from all_types where c_numeric = 'NaN' order by id`},
		"bytea":                   {query: types.Where(query.Eq("c_bytea", []byte{0x00, 0xff, 0x10})), sql: `select id from all_types where c_bytea = decode('00ff10', 'hex') order by id`},
		"infinity":                {query: types.Where(query.Eq("c_timestamptz", "infinity")), sql: `select id from all_types where c_timestamptz = 'infinity' order by id`},
		"inet":                    {query: types.Where(query.Gt("c_inet", "10.0.0.0")), sql: `select id from all_types where c_inet > inet '10.0.0.0' order by id`},
		"char is padded":          {query: types.Where(query.Eq("c_char", "ab")), sql: `select id from all_types where c_char = 'ab'::char(5) order by id`},
		"isdistinct":              {query: companies.Where(query.IsDistinctFrom("sector_id", 2)), sql: `select ticker from companies where sector_id is distinct from 2 order by ticker`},

		// Text.
		"like":                  {query: companies.Where(query.Like("name", "Company _")), sql: `select ticker from companies where name like 'Company _' order by ticker`},
		"like a percent sign":   {query: filings.Where(query.Like("note", `100\%%`)), sql: `select id from insider_transactions where note like '100\%%' order by id`},
		"ilike":                 {query: companies.Where(query.ILike("description", "makes%RATS")), sql: `select ticker from companies where description ilike 'makes%RATS' order by ticker`},
		"match":                 {query: companies.Where(query.Matches("ticker", `^T(0[1-3]|1\d)$`)), sql: `select ticker from companies where ticker ~ '^T(0[1-3]|1\d)$' order by ticker`},
		"imatch":                {query: companies.Where(query.IMatches("description", `\(MOSTLY\) "quoted"`)), sql: `select ticker from companies where description ~* '\(MOSTLY\) "quoted"' order by ticker`},
		"not ilike":             {query: companies.Where(query.Not(query.ILike("description", "makes%"))), sql: `select ticker from companies where not description ilike 'makes%' order by ticker`},
		"in of hostile texts":   {query: filings.Where(query.In("note", `comma, dot. (paren) "quote"`, `back\slash`)), sql: `select id from insider_transactions where note in ('comma, dot. (paren) "quote"', 'back\slash') order by id`},
		"in with an empty text": {query: filings.Where(query.In("note", "", "plan 10b5-1")), sql: `select id from insider_transactions where note in ('', 'plan 10b5-1') order by id`},
		"in of an empty text":   {query: filings.Where(query.In("note", "")), sql: `select id from insider_transactions where note = '' order by id`},
		"in of nothing":         {query: filings.Where(query.In[string, string]("note")), sql: `select id from insider_transactions where false`},
		"not in":                {query: companies.Where(query.Not(query.In("sector_id", 1, 2))), sql: `select ticker from companies where sector_id not in (1, 2) order by ticker`},
		"text that says null":   {query: odd.Where(query.Eq("한글", "null")), sql: `select "Id" from "Odd Table" where "한글" = 'null'`},
		"text with a line":      {query: types.Where(query.Eq("c_text", "line\nbreak\ttab \"quote\" \\ back")), sql: `select id from all_types where c_text = E'line\nbreak\ttab "quote" \\ back'`},

		// States.
		"is null":         {query: companies.Where(query.IsNull("listed_on")), sql: `select ticker from companies where listed_on is null order by ticker`},
		"is not null":     {query: companies.Where(query.IsNotNull("parent_ticker")), sql: `select ticker from companies where parent_ticker is not null order by ticker`},
		"is true":         {query: types.Where(query.IsTrue("c_bool")), sql: `select id from all_types where c_bool is true order by id`},
		"is not false":    {query: types.Where(query.Not(query.IsFalse("c_bool"))), sql: `select id from all_types where c_bool is not false order by id`},
		"is unknown":      {query: types.Where(query.IsUnknown("c_bool")), sql: `select id from all_types where c_bool is unknown order by id`},
		"not of a NULL":   {query: companies.Where(query.Not(query.Eq("sector_id", 3))), sql: `select ticker from companies where not (sector_id = 3) order by ticker`},
		"any of a column": {query: companies.Where(query.AnyOf("ticker", query.OpEq, []string{"T01", "T20", "no"})), sql: `select ticker from companies where ticker = any (array['T01', 'T20', 'no']) order by ticker`},
		"like any":        {query: companies.Where(query.AnyOf("name", query.OpLike, []string{"%1", "%2"})), sql: `select ticker from companies where name like '%1' or name like '%2' order by ticker`},
		"gte all":         {query: companies.Where(query.AllOf("sector_id", query.OpGte, []int{1, 3})), sql: `select ticker from companies where sector_id >= 1 and sector_id >= 3 order by ticker`},
		"not match any":   {query: companies.Where(query.Not(query.AnyOf("ticker", query.OpMatch, []string{"^T0", "5$"}))), sql: `select ticker from companies where not (ticker ~ '^T0' or ticker ~ '5$') order by ticker`},

		// Arrays, ranges, JSON, text search.
		"contains":              {query: filings.Where(query.Contains("tags", []string{"amended, twice", `x"y`})), sql: `select id from insider_transactions where tags @> array['amended, twice', 'x"y'] order by id`},
		"contained by":          {query: filings.Where(query.ContainedBy("tags", []string{"late"})), sql: `select id from insider_transactions where tags <@ array['late'] order by id`},
		"overlaps":              {query: types.Where(query.Overlaps("c_int_arr", []int{3, -1})), sql: `select id from all_types where c_int_arr && array[3, -1] order by id`},
		"equal arrays":          {query: types.Where(query.Eq("c_matrix", [][]int{{1, 2}, {3, 4}})), sql: `select id from all_types where c_matrix = array[[1, 2], [3, 4]]`},
		"a range contains":      {query: types.Where(query.Contains("c_int4range", "[2,4)")), sql: `select id from all_types where c_int4range @> int4range(2, 4) order by id`},
		"ranges overlap":        {query: types.Where(query.Overlaps("c_daterange", "[2026-01-15,2026-03-01)")), sql: `select id from all_types where c_daterange && daterange('2026-01-15', '2026-03-01') order by id`},
		"strictly left":         {query: types.Where(query.StrictlyLeft("c_int4range", "[10,20)")), sql: `select id from all_types where c_int4range << int4range(10, 20) order by id`},
		"strictly right":        {query: types.Where(query.StrictlyRight("c_int4range", "(,0)")), sql: `select id from all_types where c_int4range >> int4range(null, 0) order by id`},
		"not right of":          {query: types.Where(query.NotRightOf("c_int4range", "[0,5)")), sql: `select id from all_types where c_int4range &< int4range(0, 5) order by id`},
		"not left of":           {query: types.Where(query.NotLeftOf("c_int4range", "[1,2)")), sql: `select id from all_types where c_int4range &> int4range(1, 2) order by id`},
		"adjacent":              {query: types.Where(query.Adjacent("c_int4range", "[5,7)")), sql: `select id from all_types where c_int4range -|- int4range(5, 7) order by id`},
		"jsonb contains":        {query: filings.Where(query.Contains("meta", map[string]any{"form": "4", "flags": map[string]bool{"late": true}})), sql: `select id from insider_transactions where meta @> '{"form": "4", "flags": {"late": true}}' order by id`},
		"jsonb contained by":    {query: types.Where(query.ContainedBy("c_jsonb", json.RawMessage(`{"a":[1,2.5,null,7],"b":1,"c":0}`))), sql: `select id from all_types where c_jsonb <@ '{"a":[1,2.5,null,7],"b":1,"c":0}' order by id`},
		"text search":           {query: types.Where(query.TSQuery("c_tsvector", "fat & !rat", "simple")), sql: `select id from all_types where c_tsvector @@ to_tsquery('simple', 'fat & !rat') order by id`},
		"search in text":        {query: companies.Where(query.PlainTSQuery("description", "cats making", "english")), sql: `select ticker from companies where to_tsvector('english', description) @@ plainto_tsquery('english', 'cats making') order by ticker`},
		"a phrase":              {query: companies.Where(query.PhraseTSQuery("description", "fat cats", "english")), sql: `select ticker from companies where to_tsvector('english', description) @@ phraseto_tsquery('english', 'fat cats') order by ticker`},
		"a search field":        {query: companies.Where(query.WebTSQuery("description", `quoted or "fat cats" -12`, "english")), sql: `select ticker from companies where to_tsvector('english', description) @@ websearch_to_tsquery('english', 'quoted or "fat cats" -12') order by ticker`},
		"the server's search":   {query: companies.Where(query.Not(query.PlainTSQuery("description", "rats"))), sql: `select ticker from companies where not to_tsvector(description) @@ plainto_tsquery('rats') order by ticker`},
		"a path in a condition": {query: query.From("insiders").Columns("id").Where(query.Eq(query.JSONText("contact", "address", "city"), "City 1"), query.Gt(query.JSON("contact", "phones", -1), 10)).OrderBy(query.Asc("id")), sql: `select id from insiders where contact #>> '{address,city}' = 'City 1' and contact #> '{phones,-1}' > '10' order by id`},
		"a path in an order":    {query: filings.Where(query.IsNull("price")).OrderBy(query.Desc("id")), sql: `select id from insider_transactions where price is null order by id, id desc`},
		"by a JSON number":      {query: query.From("insider_transactions").Columns("id").OrderBy(query.Desc(query.JSON("meta", "n"))).Limit(4), sql: `select id from insider_transactions order by (meta -> 'n') desc limit 4`},

		// Logic.
		"or":     {query: companies.Where(query.Or(query.Eq("ticker", "T02"), query.And(query.Gt("sector_id", 3), query.IsNull("market_cap")))), sql: `select ticker from companies where ticker = 'T02' or (sector_id > 3 and market_cap is null) order by ticker`},
		"not or": {query: companies.Where(query.Not(query.Or(query.Eq("sector_id", 1), query.IsNull("listed_on")))), sql: `select ticker from companies where not (sector_id = 1 or listed_on is null) order by ticker`},
		"deep": {
			query: companies.Where(query.And(query.Or(query.Not(query.And(query.Eq("sector_id", 1), query.Eq("ticker", "T04"))), query.Like("name", "%9")), query.In("ticker", "T04", "T08", "T09"))),
			sql:   `select ticker from companies where (not (sector_id = 1 and ticker = 'T04') or name like '%9') and ticker in ('T04', 'T08', 'T09') order by ticker`,
		},
		"a value that breaks out": {query: query.From("insiders").Columns("id").Where(query.Or(query.Eq("full_name", `x",id.gt.0,full_name.eq."y`), query.Eq("id", 2))), sql: `select id from insiders where full_name = 'x",id.gt.0,full_name.eq."y' or id = 2`},

		// Select lists.
		"everything": {query: query.From("all_types").OrderBy(query.Asc("id")), sql: `select * from all_types order by id`},
		"aliases":    {query: query.From("Odd Table").Select(query.Col("space col").As("a b"), query.Col(`quote"col`).As(`q"`), query.Col("comma,col"), query.Col("paren(col)").As("한")).OrderBy(query.Desc("Id")), sql: `select "space col" as "a b", "quote""col" as "q""", "comma,col", "paren(col)" as "한" from "Odd Table" order by "Id" desc`},
		"casts":      {query: query.From("companies").Select(query.Col("market_cap").To("text"), query.Col("listed_on").To("timestamptz").As("at")).Where(query.Eq("ticker", "T04")), sql: `select market_cap::text, listed_on::timestamptz as at from companies where ticker = 'T04'`},
		"paths":      {query: query.From("insiders").Select(query.Col(query.JSON("contact", "address")), query.Col(query.JSONText("contact", "address", "zip")), query.Col(query.JSON("contact", "phones", 1)).As("second")).Where(query.Lte("id", 2)).OrderBy(query.Asc("id")), sql: `select contact -> 'address' as address, contact -> 'address' ->> 'zip' as zip, contact -> 'phones' -> 1 as second from insiders where id <= 2 order by id`},
		"path into an array": {
			query: query.From("insider_transactions").Select(query.Col(query.JSONText("tags", 1)).As("second"), query.Col("id")).Where(query.Lt("id", 4)).OrderBy(query.Asc("id")),
			sql:   `select tags[2] as second, id from insider_transactions where id < 4 order by id`,
		},
		"a view": {query: query.From("company_summary").OrderBy(query.Desc("filings"), query.Asc("ticker")).Limit(5), sql: `select * from company_summary order by filings desc, ticker limit 5`},

		// Order, window and count.
		"nulls first":   {query: query.From("companies").Columns("ticker", "listed_on").OrderBy(query.Asc("listed_on").NullsFirst(), query.Desc("ticker")), sql: `select ticker, listed_on from companies order by listed_on nulls first, ticker desc`},
		"nulls last":    {query: query.From("companies").Columns("ticker").OrderBy(query.Desc("market_cap").NullsLast(), query.Asc("ticker")).Limit(18), sql: `select ticker from companies order by market_cap desc nulls last, ticker limit 18`},
		"desc":          {query: query.From("companies").Columns("ticker").OrderBy(query.Desc("market_cap"), query.Asc("ticker")), sql: `select ticker from companies order by market_cap desc, ticker`},
		"window":        {query: filings.Limit(3).Offset(117), sql: `select id from insider_transactions order by id limit 3 offset 117`},
		"no rows asked": {query: filings.Limit(0), sql: `select id from insider_transactions limit 0`},
		"count":         {query: filings.Where(query.Eq("kind", "buy")).Limit(2), verb: count, whole: true, sql: `select count(*) from insider_transactions where kind = 'buy'`},
		"count of an inner embed": {
			query: query.From("companies").Select(query.Col("ticker"), query.Rel("insider_transactions").InnerJoin().Filter(query.Gt("shares", 990))), verb: count, whole: true,
			sql: `select count(*) from companies c where exists (select from insider_transactions t where t.ticker = c.ticker and shares > 990)`,
		},
		"page": {
			query: query.From("companies").Where(query.Gte("sector_id", 2)).OrderBy(query.Desc("ticker")).Limit(2).Offset(3), verb: page[company], whole: true,
			sql: `select json_build_object('rows', (select json_agg(t) from (select ticker, name, sector_id from companies where sector_id >= 2 order by ticker desc limit 2 offset 3) t), 'total', (select count(*) from companies where sector_id >= 2))`,
		},
		"page past the end": {query: query.From("companies").OrderBy(query.Asc("ticker")).Offset(99), verb: page[company], whole: true, sql: `select json_build_object('rows', '[]'::json, 'total', count(*)) from companies`},

		// Verbs with types.
		"all":           {query: query.From("companies").Where(query.Lt("ticker", "T08")).OrderBy(query.Asc("ticker")), verb: all[company], sql: `select ticker, name, sector_id from companies where ticker < 'T08' order by ticker`},
		"all, richer":   {query: query.From("insider_transactions").Where(query.Lte("id", 12)).OrderBy(query.Asc("id")), verb: all[filing], sql: `select id, kind, shares, note, tags, meta, settled from insider_transactions where id <= 12 order by id`},
		"one":           {query: query.From("companies").Where(query.Eq("ticker", "T07")), verb: only[company], whole: true, sql: `select row_to_json(t) from (select ticker, name, sector_id from companies where ticker = 'T07') t`},
		"one of none":   {query: query.From("companies").Where(query.Eq("ticker", "no")), verb: only[company], code: "PGRST116"},
		"one of many":   {query: query.From("companies"), verb: only[company], code: "PGRST116"},
		"first":         {query: query.From("companies").OrderBy(query.Desc("ticker")), verb: first[company], whole: true, sql: `select row_to_json(t) from (select ticker, name, sector_id from companies order by ticker desc limit 1) t`},
		"no such table": {query: query.From("nope"), code: "PGRST205"},

		// Errors of the database.
		"no such column":  {query: companies.Where(query.Eq("nope", 1)), sql: `select ticker from companies where nope = '1'`, code: "42703"},
		"a wrong value":   {query: filings.Where(query.Eq("id", "abc")), sql: `select id from insider_transactions where id = 'abc'`, code: "22P02"},
		"out of range":    {query: filings.Where(query.Eq("id", "99999999999999999999")), sql: `select id from insider_transactions where id = '99999999999999999999'`, code: "22003"},
		"no such date":    {query: query.From("prices").Where(query.Eq("day", "2026-02-30")), sql: `select * from prices where day = '2026-02-30'`, code: "22008"},
		"a broken regex":  {query: companies.Where(query.Matches("ticker", "(")), sql: `select ticker from companies where ticker ~ '('`, code: "2201B"},
		"no comparison":   {query: types.Where(query.Eq("c_json", "1")), sql: `select id from all_types where c_json = '1'`, code: "42883"},
		"forbidden":       {as: "alice", query: query.From("secrets"), sql: `select * from secrets`, code: "42501"},
		"forbidden, anon": {query: query.From("secrets"), sql: `select * from secrets`, code: "42501"},
		"allowed":         {as: "service", query: query.From("secrets"), sql: `select * from secrets`},

		// Another schema, and row level security.
		"another schema":  {query: query.From("notes").InSchema("private_api"), as: "service", sql: `select * from private_api.notes`},
		"a hidden schema": {query: query.From("users").InSchema("auth"), code: "PGRST106"},
		"lists of anon":   {query: query.From("watchlists").OrderBy(query.Asc("id")), sql: `select * from watchlists order by id`},
		"lists of alice":  {as: "alice", query: query.From("watchlists").OrderBy(query.Asc("id")), sql: `select * from watchlists order by id`},
		"lists of bob":    {as: "bob", query: query.From("watchlists").OrderBy(query.Asc("id")), sql: `select * from watchlists order by id`},
		"all lists":       {as: "service", query: query.From("watchlists").OrderBy(query.Asc("id")), sql: `select * from watchlists order by id`},
		"count of bob's":  {as: "bob", query: query.From("watchlist_items"), verb: count, whole: true, sql: `select count(*) from watchlist_items`},
	}
}
