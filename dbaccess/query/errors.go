package query

// UnsupportedError means that a query asks for something that can't be done, or
// not alike on both access paths. Nothing has been sent.
type UnsupportedError struct {
	Node   string // the part of the query, free of values
	Reason string // why, and what to do instead
}

func (e *UnsupportedError) Error() string { return "query: unsupported: " + e.Node + ": " + e.Reason }
