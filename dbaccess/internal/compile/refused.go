package compile

import "strconv"

// RefusedError is a query that PostgREST refuses before it asks the database, for
// another reason than what the schema has. Message and details are for the client
// and may quote names; Error leaves them out.
type RefusedError struct {
	Status  int
	Failure Failure
}

// Error names status and code.
func (e *RefusedError) Error() string {
	return "compile: " + e.Failure.Code + " (status " + strconv.Itoa(e.Status) + "): " + e.advice()
}

func (e *RefusedError) advice() string {
	switch e.Failure.Code {
	case codeBody:
		return "the payload must be a JSON object or an array of objects with the same members"
	case codePutFilters:
		return "compare every column of the primary key, and nothing else, with eq"
	case codeMaxAffectedCall:
		return "max-affected needs a function that returns a set"
	case codeNotEmbedded:
		return "embed the relation whose column is sorted by, under the name that the sort key has"
	case codeRelatedOrder:
		return "sort by an embed of one row at most"
	case codeAggregates:
		return "aggregates are off: set Aggregates where the server has db-aggregates-enabled"
	case codeNotImplemented:
		return "a spread of several rows has no aggregates: embed without spreading"
	case codeDuplicateAlias:
		return "two embeds have the same name: give one an alias"
	}
	return "the query can't be sent"
}

// Codes of refusals. See
// https://docs.postgrest.org/en/stable/references/errors.html.
const (
	codeBody            = "PGRST102"
	codePutFilters      = "PGRST105"
	codePutKey          = "PGRST115"
	codeSingle          = "PGRST116"
	codeMaxAffected     = "PGRST124"
	codeMaxAffectedCall = "PGRST128"

	codeNotEmbedded    = "PGRST108"
	codeRelatedOrder   = "PGRST118"
	codeAggregates     = "PGRST123"
	codeNotImplemented = "PGRST127"
	codeDuplicateAlias = "42712" // the server's: duplicate_alias
)

func refuse(status int, code, message string) error {
	return &RefusedError{Status: status, Failure: Failure{Code: code, Message: message}}
}
