package compile

// The two functions that names and values pass through, for the fuzz tests.
var (
	QuoteIdent = quoteIdent
	QuoteValue = quoteValue
)
