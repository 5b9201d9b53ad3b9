package advice

import (
	"strings"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// Failure is what is known about a call that failed.
type Failure struct {
	// Code is PostgREST's code, or the SQLSTATE where the database answered.
	Code string
	// Message is the server's. It tells causes apart that share a code, and
	// nothing of it gets into the advice.
	Message string
	// Query is what was asked, nil when that is not known.
	Query *query.Spec
	// Role says that the failure is known to be one of taking on the caller's role.
	// Without it English messages tell.
	Role bool
	// Nested says that the failure is known to lie in a function or a view that the
	// query uses, rather than in the query itself.
	Nested bool
}

// For returns what to do, "" when nothing is known that the error's kind doesn't
// say.
func For(f Failure) string {
	switch f.Code {
	case "22023":
		if f.Role || strings.HasPrefix(f.Message, "role ") && strings.HasSuffix(f.Message, " does not exist") {
			if f.Query != nil && f.Query.TimeZone != "" && !strings.HasPrefix(f.Message, "role ") {
				return "the query's time zone is unknown to the server, or the identity's role does not exist in this database"
			}
			return "the identity's role does not exist in this database: create it, or correct the token's claim"
		}
	case "42501":
		if f.Role || strings.HasPrefix(f.Message, "permission denied to set role") {
			return "the login role may not act as the identity's role: GRANT the latter to the former"
		}
		return "the identity's role lacks a privilege, or a row-level policy refuses the row: GRANT the privilege or add a policy, if the role should have it"
	case "PGRST303":
		if f.Message == "JWT expired" {
			return "the bearer token has expired: get a new one, or check the clocks"
		}
	case "42P01":
		if f.Nested {
			return "a view or function reads a table that doesn't exist"
		}
	}
	if text, ok := ofValue(f); ok {
		return text
	}
	return byCode[f.Code]
}

// ofValue is advice about a value that doesn't fit, which names where the query's
// values are.
func ofValue(f Failure) (string, bool) {
	var what string
	switch f.Code {
	case "22P02", "22007", "22008", "22003":
		what = "does not fit the type of its column or argument"
	case "22001":
		what = "is too long for its column"
	case "22P05", "22021":
		what = "holds characters that the database's encoding doesn't have"
	case "22030", "22032", "22033", "22034", "22035", "22038":
		what = "is no JSON that the database can use"
	default:
		return "", false
	}
	if f.Query == nil {
		return "a value " + what, true
	}
	var from []string
	if f.Query.Op == query.OpInsert || f.Query.Op == query.OpUpdate {
		from = append(from, "of those written")
	}
	if c := f.Query.Call; c != nil && (len(c.Args) > len("{}") || len(c.TextArgs) > 0) {
		from = append(from, "among the arguments")
	}
	if filtered(f.Query) {
		from = append(from, "of a filter")
	}
	switch len(from) {
	case 0: // the query has no values
		return "the query has no value of its own, so that one in the table or view " + what + ": check casts in the select list, and what the view does", true
	case 1:
		return "a value " + from[0] + " " + what, true
	}
	return "a value " + strings.Join(from, " or ") + " " + what, true
}

// filtered says whether a query has a filter, that of an embed included.
func filtered(s *query.Spec) bool { return len(s.Where) > 0 || filteredIn(s.Select) }

func filteredIn(items []query.Item) bool {
	for _, it := range items {
		if e, ok := it.(query.Embed); ok && (len(e.Where) > 0 || filteredIn(e.Select)) {
			return true
		}
	}
	return false
}

// StaleCache follows the advice about codes with which PostgREST says that its
// schema cache lacks something. The direct path reads the schema again by itself.
const StaleCache = "; after a migration, reload PostgREST's schema cache: notify pgrst, 'reload schema'"

// IsSchemaCache says whether a code is one that a stale schema cache brings about.
func IsSchemaCache(code string) bool {
	switch code {
	case "PGRST200", "PGRST202", "PGRST204", "PGRST205":
		return true
	}
	return false
}

// byCode has the codes whose advice depends on nothing else.
var byCode = map[string]string{
	"21000": "a statement found more rows than it may, or would change all of them without a filter",
	"23502": "a column that must not be null has no value: give it one, or a default",
	"23503": "the row that a foreign key names is not there, or a row is still referred to by another table",
	"23505": "a row with the same unique key is there: change the key, or insert with Merge",
	"23514": "a value violates a check of its table or domain",
	"23P01": "the row overlaps one that an exclusion constraint protects",
	"25006": "reads, and calls of functions that are declared stable or immutable, run in read-only transactions on both paths, and this one writes: " +
		"look at the functions that it calls",
	"3F000": "the schema doesn't exist",
	"40001": "it collided with another transaction: try again",
	"40P01": "it collided with another transaction: try again",
	"42702": "a column's name is that of several tables or variables: look at the functions and views that the query uses",
	"42703": "the query, or a view or function that it uses, names a column that doesn't exist: check its spelling, case included",
	"42704": "a type or another object that the query, or a function that it uses, names doesn't exist",
	"42804": "a value's type does not fit its column, and there is no cast that is implied",
	"42883": "no operator or function fits the types: check filters against the types of their columns",
	"42P01": "there is no such table or view in the schema: check its spelling, case included",
	"42P17": "a row-level policy reads its own table: put what it looks up into a SECURITY DEFINER function",
	"54001": "the query is too deep for the server's stack: simplify it",
	"55P03": "a lock was not free in time: try again",
	"57014": "the statement ran into the server's statement_timeout, or was cancelled",

	"PGRST102": "the payload must be a JSON object or an array of objects with the same members",
	"PGRST103": "the window starts past the last row: page by what is there",
	"PGRST105": "compare every column of the primary key, and nothing else, with eq",
	"PGRST106": "the query's schema is not exposed: add it to PostgREST's db-schemas, and to direct.Config.Schemas",
	"PGRST108": "embed the relation whose column is sorted by, under the name that the sort key has",
	"PGRST115": "the primary key of the payload must be that of the filter",
	"PGRST118": "sort by an embed of one row at most",
	"PGRST121": "a function raised SQLSTATE 'PGRST' with a message or detail that is not the JSON expected",
	"PGRST123": "aggregates are off: set db-aggregates-enabled, where the server should have them",
	"PGRST124": "more rows than MaxAffected would change, so that nothing was done",
	"PGRST127": "a spread of several rows has no aggregates: embed without spreading",
	"PGRST128": "MaxAffected needs a function that returns a set",
	"PGRST200": "no foreign key relates the two: check the embed's name and hint",
	"PGRST201": "several relationships lead there: add a hint, the foreign key's name, to the embed",
	"PGRST202": "no function takes these arguments: check its name and theirs",
	"PGRST203": "several functions take these arguments: rename one, or an argument of one",
	"PGRST204": "the table has no such column: check its spelling, case included",
	"PGRST205": "there is no such table or view in the schema: check its spelling, case included",
	"PGRST300": "PostgREST has no jwt-secret",
	"PGRST301": "the bearer token can't be decoded, or its signature is wrong: sign it with PostgREST's jwt-secret",
	"PGRST302": "PostgREST has no anonymous role: send a token",
	"PGRST303": "a claim refuses the bearer token: check its exp, nbf, iat and aud, and the clocks",
}
