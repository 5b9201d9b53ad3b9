package rest

import (
	"strconv"
	"strings"
)

// contentRange is what a Content-Range header says: "0-9/100", "0-9/*", "*/100"
// or "*/*".
type contentRange struct {
	rows  int64 // rows in the answer, -1 when unknown
	total int64 // rows that match, -1 when not counted
}

func parseContentRange(header string) contentRange {
	r := contentRange{rows: -1, total: -1}
	window, total, ok := strings.Cut(header, "/")
	if !ok {
		return r
	}
	if n, err := strconv.ParseInt(total, 10, 64); err == nil && n >= 0 {
		r.total = n
	}
	if window == "*" {
		r.rows = 0
		return r
	}
	from, to, ok := strings.Cut(window, "-")
	if !ok {
		return r
	}
	a, errA := strconv.ParseInt(from, 10, 64)
	b, errB := strconv.ParseInt(to, 10, 64)
	if errA == nil && errB == nil && a >= 0 && b >= a && b-a < 1<<62 {
		r.rows = b - a + 1
	}
	return r
}
