package compile

// Request is what PostgREST gets.
type Request struct {
	Method   string // GET or HEAD
	Path     string // below PostgREST's base URL, escaped, without a leading slash
	RawQuery string // encoded
	Accept   string // the one Accept header
	Prefer   string // the one Prefer header, "" for none
	Profile  string // Accept-Profile, "" for the default schema
}

// Statement is a SQL statement and its parameters, all in text form and of
// unknown type (OID 0), so that Postgres gives them the type of the column that
// they meet, as it does for PostgREST.
type Statement struct {
	SQL  string
	Args []string
}

// Program is what the direct path runs for a query. Main yields exactly one
// row: body (text, JSON), rows (int8), total (int8, NULL when not counted) and,
// when asked for, the server's clock (float8, Unix seconds).
type Program struct {
	Main Statement
	// Plan, when not nil, is an EXPLAIN (FORMAT JSON) whose "Plan Rows" is the
	// planner's estimate of the total. [Total] makes the answer's total of it and
	// of what Main has counted.
	Plan *Statement
}

// SQLOptions changes what [SQL] writes.
type SQLOptions struct {
	Schema string // schema of queries that name none. Required
	Clock  bool   // add the server's clock as the last column

	// MaxRows is PostgREST's db-max-rows: it bounds the rows of every read, and
	// how far an estimated count counts. Defaults to 0, no bound.
	MaxRows int64
}
