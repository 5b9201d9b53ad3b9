package parse

import (
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// Prefer holds the preferences that apply to the request: those that it has no use
// for are left out. "" is a preference not given.
type Prefer struct {
	Resolution  string // of an insert: "merge-duplicates" or "ignore-duplicates"; see [compile.IgnoresConflict]
	Missing     string // of an insert or update: "default" or "null"
	Return      string // of a write: "representation" or "minimal"
	MaxAffected string // of an update, delete or call: a number; only with Handling "strict" is it heeded
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
		{"resolution=", p.Resolution}, {"missing=", p.Missing}, {"return=", p.Return},
		{"count=", p.Count}, {"tx=", p.Transaction}, {"handling=", p.Handling}, {"timezone=", p.Timezone},
		{"max-affected=", p.MaxAffected},
	} {
		if part.value == "" || part.name == "max-affected=" && p.limit() == nil {
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

// limit is the number of rows that may be affected, nil for any.
func (p *Prefer) limit() *int64 {
	if p.Handling != "strict" {
		return nil
	}
	n, err := strconv.ParseInt(p.MaxAffected, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// restrict leaves out the preferences that the request has no use for.
func (p *Prefer) restrict(rq *requested) {
	write, put := !rq.function && !rq.reads(), rq.method == http.MethodPut
	if !write || rq.method != http.MethodPost {
		p.Resolution = ""
	}
	if !write || put || rq.method == http.MethodDelete {
		p.Missing = ""
	}
	if !write {
		p.Return = ""
	}
	if !rq.function && (!write || put || rq.method == http.MethodPost) {
		p.MaxAffected = ""
	}
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

// set takes a preference in and says whether there is such a one.
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
		field, values = &p.Resolution, []string{"merge-duplicates", "ignore-duplicates"}
	case "return":
		field, values = &p.Return, []string{"representation", "minimal", "headers-only"}
	case "missing":
		field, values = &p.Missing, []string{"default", "null"}
	case "timezone":
		if strings.ContainsFunc(value, unicode.IsControl) {
			return false
		}
		if value = strings.TrimSpace(value); p.Timezone == "" {
			p.Timezone = value
		}
		return true
	case "max-affected":
		if p.MaxAffected == "" {
			p.MaxAffected = value
		}
		return true
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
