package parse

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// Prefer holds the preferences that a read can have beside the way of counting.
// "" is a preference not given.
type Prefer struct {
	Count       string // "exact", "planned" or "estimated", as in Spec.Count
	Transaction string // "commit" or "rollback"; only servers that allow it heed it
	Handling    string // "strict" or "lenient"
	Timezone    string // as given: only the database knows which ones there are
}

// Applied is the value of the Preference-Applied header, "" when there is nothing
// to say.
func (p Prefer) Applied() string {
	var b strings.Builder
	for _, part := range [...]struct{ name, value string }{
		{"count=", p.Count}, {"tx=", p.Transaction}, {"handling=", p.Handling}, {"timezone=", p.Timezone},
	} {
		if part.value == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(part.name)
		b.WriteString(part.value)
	}
	return b.String()
}

// preferences reads Prefer headers. Of preferences of one kind the first counts.
// Unknown ones are ignored unless the client asked for strictness.
func preferences(headers []string) (p Prefer, count query.Count, e *Error) {
	var unknown []string
	for _, h := range headers {
		for pref := range strings.SplitSeq(h, ",") {
			pref = strings.TrimSpace(pref)
			name, value, _ := strings.Cut(pref, "=")
			if !p.set(name, value) {
				unknown = append(unknown, pref)
			}
		}
	}
	if p.Handling == "strict" && len(unknown) > 0 {
		return p, 0, &Error{
			Status:  http.StatusBadRequest,
			Code:    "PGRST122",
			Message: "Invalid preferences given with handling=strict",
			Details: "Invalid preferences: " + strings.Join(unknown, ", "),
		}
	}
	switch p.Count {
	case "exact":
		count = query.CountExact
	case "planned":
		count = query.CountPlanned
	case "estimated":
		count = query.CountEstimated
	}
	return p, count, nil
}

// set takes a preference in and says whether there is such a one. Those that only
// concern writes change nothing.
func (p *Prefer) set(name, value string) bool {
	var field *string
	var values []string
	switch name {
	case "count":
		field, values = &p.Count, []string{"exact", "planned", "estimated"}
	case "tx":
		field, values = &p.Transaction, []string{"commit", "rollback"}
	case "handling":
		field, values = &p.Handling, []string{"strict", "lenient"}
	case "resolution":
		values = []string{"merge-duplicates", "ignore-duplicates"}
	case "return":
		values = []string{"representation", "minimal", "headers-only"}
	case "missing":
		values = []string{"default", "null"}
	case "timezone":
		if p.Timezone == "" {
			p.Timezone = value
		}
		return true
	case "max-affected":
		_, err := strconv.ParseInt(value, 10, 64)
		return err == nil
	}
	for _, v := range values {
		if v == value {
			if field != nil && *field == "" {
				*field = v
			}
			return true
		}
	}
	return false
}
