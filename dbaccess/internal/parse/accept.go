package parse

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// accept settles the answer's media type.
func accept(p *Parsed, header http.Header) *Error {
	value, ok := first(header, "Accept")
	if !ok {
		p.ContentType = ContentArray
		return nil
	}
	types := acceptable(value)
	for _, t := range types {
		name, param, _ := strings.Cut(t, ";")
		switch name {
		case "", "*/*", "application/json":
			p.ContentType = ContentArray
			return nil
		case "application/vnd.pgrst.object+json", "application/vnd.pgrst.object":
			if param == "nulls=stripped" {
				return unsupported("leaving out nulls (nulls=stripped)")
			}
			p.ContentType, p.Spec.Single = ContentObject, true
			return nil
		case "application/vnd.pgrst.array+json", "application/vnd.pgrst.array":
			if param == "nulls=stripped" {
				return unsupported("leaving out nulls (nulls=stripped)")
			}
			p.ContentType = ContentArray
			return nil
		case "text/csv":
			return unsupported("CSV")
		case "application/geo+json":
			return unsupported("GeoJSON")
		case "application/vnd.pgrst.plan", "application/vnd.pgrst.plan+json", "application/vnd.pgrst.plan+text":
			return unsupported("the execution plan as an answer")
		}
	}
	for i, t := range types {
		types[i], _, _ = strings.Cut(t, ";")
	}
	return &Error{
		Status:  http.StatusNotAcceptable,
		Code:    "PGRST107",
		Message: "None of these media types are available: " + strings.Join(types, ", "),
	}
}

// acceptable gives the media types of an Accept header without blanks, those most
// wanted first: by quality, then by how specific they are, then as they came.
func acceptable(value string) []string {
	type ranked struct {
		name        string
		quality     float64
		specificity int
	}
	var all []ranked
	for t := range strings.SplitSeq(strings.ReplaceAll(value, " ", ""), ",") {
		name, rest, found := strings.Cut(t, ";q=")
		r := ranked{name: name, quality: 1, specificity: strings.Count(name, ";") - strings.Count(name, "*")}
		if found {
			number, _, _ := strings.Cut(rest, ";")
			if q, err := strconv.ParseFloat(number, 64); err == nil {
				r.quality = q
			}
		}
		all = append(all, r)
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.quality, a.quality), b.specificity-a.specificity)
	})
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.name
	}
	return names
}
