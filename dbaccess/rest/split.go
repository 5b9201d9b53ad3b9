package rest

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	"github.com/twinpath/twinpath/dbaccess/query"
)

var _ dbaccess.Checker = (*Backend)(nil)

// Check says whether a query can be sent: its error is that of a query that no
// request can be made of, an [*query.UnsupportedError] where its URL would be longer than
// Config.MaxURLBytes and it can't be split. It sends nothing. The facade asks it
// whichever path a call takes, so that both refuse the same.
func (b *Backend) Check(s *query.Spec) error {
	if b.cfg.MaxURLBytes < 0 || mostBytes(s)+len(b.base.EscapedPath()) < b.cfg.MaxURLBytes {
		return nil
	}
	req, err := compile.REST(s)
	if err != nil {
		return err
	}
	_, err = b.split(s, &req)
	return err
}

// tooLong says whether a request's path and query exceed the limit.
func (b *Backend) tooLong(r *compile.Request) bool {
	return b.cfg.MaxURLBytes >= 0 && len(b.base.EscapedPath())+len("/?")+len(r.Path)+len(r.RawQuery) > b.cfg.MaxURLBytes
}

// split returns the reads that a read is sent as when its URL would be too long,
// and nil when it is not. The only list of values is divided among them, so that a
// row is found by one of them alone.
func (b *Backend) split(s *query.Spec, r *compile.Request) ([]*query.Spec, error) {
	if !b.tooLong(r) {
		return nil, nil
	}
	at, list, ok := divisible(s)
	if !ok {
		return nil, errTooLong(s, list)
	}
	part := func(values []string) *query.Spec {
		p := *s
		p.Where = append([]query.Expr(nil), s.Where...)
		if len(values) == 1 && values[0] == "" {
			p.Where[at] = query.Compare{Column: list.Column, Op: query.OpEq} // PostgREST takes this list for the empty one
		} else {
			p.Where[at] = query.InList{Column: list.Column, Values: values}
		}
		return &p
	}
	// What is not values, and what each value takes at most.
	rest, err := compile.REST(part([]string{"", ""}))
	if err != nil {
		return nil, err
	}
	room := b.cfg.MaxURLBytes - len(b.base.EscapedPath()) - len("/?") - len(rest.Path) - len(rest.RawQuery)
	var parts []*query.Spec
	var values []string
	used := 0
	for _, alike := range distinct(list.Values) {
		size := 0
		for _, v := range alike {
			size += encodedBytes(v)
		}
		if size > room {
			return nil, errTooLong(s, list)
		}
		if used+size > room {
			parts, values, used = append(parts, part(values)), nil, 0
		}
		values, used = append(values, alike...), used+size
	}
	return append(parts, part(values)), nil
}

// divisible finds the list by which a read can be divided, and says whether it
// can: it reads rows one by one, in no order, and has no other list.
func divisible(s *query.Spec) (at int, list query.InList, ok bool) {
	found := 0
	for i, e := range s.Where {
		if l, isList := e.(query.InList); isList {
			at, list = i, l
			found++
		}
	}
	ok = found == 1 && s.Op == query.OpSelect && !s.Single && len(s.OrderBy) == 0 && s.Offset == 0 && !(s.Head && s.HasLimit) &&
		s.Count != query.CountPlanned && s.Count != query.CountEstimated
	for _, it := range s.Select {
		switch it := it.(type) {
		case query.Field:
			ok = ok && it.Aggregate == ""
		case query.Embed:
			ok = ok && len(it.Where) == 0
		}
	}
	return at, list, ok
}

func errTooLong(s *query.Spec, list query.InList) error {
	node, reason := "a URL that is too long", "put the query into a function that takes the values as arguments"
	if len(list.Values) > 0 {
		node = "a list of values on column " + list.Column.Column
		reason = "it does not fit into a URL, and only a read with one such list and no order, offset, single row, embed filter or second list can be split: " +
			"pass the values to a function instead"
		if s.Op != query.OpSelect {
			reason = "it does not fit into a URL, and a write that was split would be no longer one: pass the values to a function instead"
		}
	}
	return &query.UnsupportedError{Node: node, Reason: reason}
}

// distinct leaves out the values that came before, and puts those that differ in
// case alone side by side: a type that does not tell them apart finds its rows
// by either.
func distinct(values []string) [][]string {
	groups := make([][]string, 0, len(values))
	places := make(map[string]int, len(values))
	seen := make(map[string]bool, len(values))
	for _, v := range values {
		if seen[v] {
			continue
		}
		seen[v] = true
		folded := strings.ToLower(v)
		if at, ok := places[folded]; ok {
			groups[at] = append(groups[at], v)
			continue
		}
		places[folded] = len(groups)
		groups = append(groups, []string{v})
	}
	return groups
}

// encodedBytes is the most that a value of a list takes in a query string, with
// quotes and comma.
func encodedBytes(v string) int {
	n := len(`%22%22`) + len("%2C")
	for i := range len(v) {
		switch c := v[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.', c == '~':
			n++
		case c == '"', c == '\\':
			n += len("%5C%22")
		default:
			n += len("%20")
		}
	}
	return n
}

// parts sends the reads that a read was split into, one after the other, and puts
// their answers together. They are not one snapshot.
func (b *Backend) parts(ctx context.Context, how sending, s *query.Spec, parts []*query.Spec) (*dbaccess.Result, error) {
	all := &dbaccess.Result{Rows: 0, Total: compile.NotCounted}
	var body bytes.Buffer
	left := s.Limit
	for i, part := range parts {
		if s.HasLimit {
			if left <= 0 && s.Count == query.CountNone {
				break
			}
			part.Limit = left
			if left <= 0 { // only their number is wanted
				part.Head, part.HasLimit = true, false
			}
		}
		req, err := compile.REST(part)
		if err != nil {
			return all, compileError(err)
		}
		res, err := b.send(ctx, how, part, req)
		all.Phases = append(all.Phases, res.Phases...)
		if i == 0 {
			all.Conn = res.Conn
		}
		all.Status = res.Status
		if err != nil {
			all.Rows = -1
			return all, err
		}
		if last := len(all.Phases) - 1; last >= 0 {
			how.start = all.Phases[last].Start.Add(all.Phases[last].Duration)
		}
		if res.Total >= 0 {
			all.Total = max(all.Total, 0) + res.Total
		}
		if part.Head {
			continue
		}
		rows, n := inner(res)
		if n == 0 {
			continue
		}
		if body.Len() > 0 {
			body.WriteByte(',')
		}
		body.Write(rows)
		all.Rows, left = all.Rows+n, left-n
		if int64(body.Len()) > b.cfg.MaxBodyBytes {
			return all, tooLarge()
		}
	}
	if !s.Head { // which has no window, so that all that match are in it
		all.Status = compile.Answer(s, all.Rows, all.Total).Status
		all.Body = append(append([]byte{'['}, body.Bytes()...), ']')
	}
	return all, nil
}

// inner is what is between the brackets of a list of rows, and their number.
func inner(res *dbaccess.Result) ([]byte, int64) {
	rows := bytes.TrimSpace(res.Body)
	if len(rows) < 2 || rows[0] != '[' || rows[len(rows)-1] != ']' {
		return nil, 0
	}
	rows = bytes.TrimSpace(rows[1 : len(rows)-1])
	if len(rows) == 0 {
		return nil, 0
	}
	return rows, max(res.Rows, 1)
}

// sending is how a call's requests are sent.
type sending struct {
	start         time.Time
	authorization string
	forwarded     http.Header // of the caller's own request
	bounded       bool        // by Config.Timeout, for want of a deadline
}
