package parse

import (
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// span is a range of row numbers, both ends included.
type span struct {
	lower, upper int64
	open         bool // no upper end
}

func (r span) empty() bool { return !r.open && r.upper < r.lower }

// intersect is the part that two ranges share. Like PostgREST's, it keeps the
// bounds of an empty part of two ranges that are not.
func (r span) intersect(o span) span {
	if r.empty() || o.empty() {
		return span{upper: math.MinInt64}
	}
	out := span{lower: max(r.lower, o.lower), open: r.open && o.open}
	switch {
	case r.open:
		out.upper = o.upper
	case o.open:
		out.upper = r.upper
	default:
		out.upper = min(r.upper, o.upper)
	}
	return out
}

// span works out which rows a limit and an offset mean. It follows PostgREST's
// ranges step by step, because what that makes of odd combinations can't be
// described otherwise: a negative offset shortens the limit, and a limit that is no
// number counts as none unless there is an offset too.
func (l *limits) span() (span, *Error) {
	r := span{open: true}
	if l == nil {
		return r, nil
	}
	limit, limitOK, e := number(l.limit)
	if e != nil {
		return r, e
	}
	offset, offsetOK, e := number(l.offset)
	if e != nil {
		return r, e
	}
	if l.hasLimit && limitOK {
		r = span{open: true}.intersect(span{lower: math.MinInt64, upper: limit - 1})
	}
	if !l.hasOffset {
		return r, nil
	}
	o := int64(0)
	if offsetOK {
		o = offset
	}
	if !l.hasLimit {
		return span{lower: o, open: true}, nil
	}
	n := int64(0)
	if limitOK {
		n = r.upper - r.lower + 1
	}
	return span{lower: o, upper: o + n - 1}, nil
}

// embedWindow gives an embed its limit and offset, which PostgREST leaves to the
// server to judge.
func (ps *params) embedWindow(embed *query.Embed, l *limits) {
	r, e := l.span()
	switch {
	case e != nil:
	case r.lower < 0:
		e = &Error{Status: http.StatusBadRequest, Code: "2201X", Message: "OFFSET must not be negative"}
	case !r.open && r.upper < r.lower-1:
		e = &Error{Status: http.StatusBadRequest, Code: "2201W", Message: "LIMIT must not be negative"}
	}
	if e != nil {
		ps.postpone(e)
		return
	}
	embed.Offset = r.lower
	if !r.open {
		embed.Limit, embed.HasLimit = r.upper-r.lower+1, true
	}
}

// window works out which rows are wanted, from limit, offset and the Range header.
// An offset beside a limit of zero is refused.
func (ps *params) window(rangeHeader string) *Error {
	limits, e := ps.limits[""].span()
	if e != nil {
		return e
	}
	header, e := headerRange(rangeHeader)
	if e != nil {
		return e
	}
	if !limits.open && limits.upper == -1 { // limit=0
		ps.spec.Limit, ps.spec.HasLimit = 0, true
		return nil
	}
	r := header.intersect(limits)
	if r.empty() {
		details := "Limit should be greater than or equal to zero."
		if header.empty() {
			details = "The lower boundary must be lower than or equal to the upper boundary in the Range header."
		}
		return &Error{
			Status:  http.StatusRequestedRangeNotSatisfiable,
			Code:    "PGRST103",
			Message: "Requested range not satisfiable",
			Details: details,
		}
	}
	ps.spec.Offset = r.lower
	if !r.open {
		ps.spec.Limit, ps.spec.HasLimit = r.upper-r.lower+1, true
	}
	return nil
}

// headerRange reads a Range header, which is ignored unless it is of the form
// that PostgREST knows.
func headerRange(h string) (span, *Error) {
	from, to, found := strings.Cut(h, "-")
	if !found || !digits(from) || to != "" && !digits(to) {
		return span{open: true}, nil
	}
	r := span{open: to == ""}
	var e *Error
	if r.lower, _, e = number(from); e != nil {
		return r, e
	}
	if !r.open {
		r.upper, _, e = number(to)
	}
	return r, e
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// bound keeps sums of two numbers within 64 bits.
const bound = math.MaxInt64 / 4

// number reads a row number. ok is false for text that is none.
func number(text string) (n int64, ok bool, e *Error) {
	t := strings.TrimSpace(text)
	sign, abs := int64(1), t
	if rest, negative := strings.CutPrefix(t, "-"); negative {
		sign, abs = -1, strings.TrimSpace(rest)
	}
	if !digits(abs) {
		return 0, false, nil
	}
	n, err := strconv.ParseInt(abs, 10, 64)
	switch {
	case err != nil && sign > 0:
		return 0, false, outOfRange(abs, "bigint")
	case err != nil || n > bound:
		n = bound
	}
	return sign * n, true, nil
}
