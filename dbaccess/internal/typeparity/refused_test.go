package typeparity_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/internal/decode"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// unreadable is a value that the Go type has no room for.
type unreadable struct {
	column, text string // what is stored
	is           error  // what the error is, nil for a *decode.TypeError alone
	advice       string // part of the error
	read         func(t *testing.T, p *paths, path dbaccess.Path, id int64) error
}

func intoType[T any](column, text string, is error, advice string) unreadable {
	return unreadable{column, text, is, advice, func(t *testing.T, p *paths, path dbaccess.Path, id int64) error {
		_, err := dbaccess.One[map[string]T](over(t, path), p.DB, query.From("all_types").Columns(column).Where(query.Eq("id", id)))
		return err
	}}
}

// null stands for NULL in unreadable.text.
const null = "\x00"

// What a Go type can't hold is an error that names the column and says what to do,
// the same over both paths, and never another value.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	p := open(t)
	for _, c := range []unreadable{
		intoType[time.Time]("c_timestamp", "infinity", decode.ErrInfinity, "use string"),
		intoType[time.Time]("c_timestamptz", "-infinity", decode.ErrInfinity, "use string"),
		intoType[*time.Time]("c_date", "infinity", decode.ErrInfinity, "use string"),
		intoType[time.Time]("c_time", "13:14:15", nil, "time.Duration"),
		intoType[time.Time]("c_timetz", "13:14:15+09", nil, "use string"),
		intoType[pgtype.Timestamp]("c_timestamp", null, nil, "").readable(),
		intoType[time.Duration]("c_interval", "1 mon", nil, "no fixed length"),
		intoType[time.Duration]("c_interval", "2562047:47:16.854776", nil, "292 years"),
		intoType[time.Duration]("c_timetz", "13:14:15+09", nil, "use string"),
		intoType[int64]("c_int8", null, decode.ErrNull, "*int64"),
		intoType[string]("c_text", null, decode.ErrNull, "*string"),
		intoType[time.Time]("c_date", null, decode.ErrNull, "*time.Time"),
		intoType[decimal]("c_numeric", null, decode.ErrNull, "sql.Null"),
		intoType[uuid]("c_uuid", null, decode.ErrNull, "sql.Null"),
		intoType[[16]byte]("c_uuid", null, decode.ErrNull, "*[16]uint8"),
		intoType[[]int]("c_int_arr", "{1,NULL}", decode.ErrNull, "*int"),
		intoType[[]int]("c_matrix", "{{1,2}}", nil, "only integers"),
		intoType[[][]int]("c_int_arr", "{1}", nil, "a slice is read from an array"),
		intoType[[2]int]("c_int_arr", "{1}", nil, "use a slice"),
		intoType[int8]("c_int2", "300", nil, "wider type"),
		intoType[uint32]("c_int4", "-1", nil, "signed"),
		intoType[int64]("c_numeric", "1.10", nil, "json.Number"),
		intoType[int64]("c_numeric", "123456789012345678901234567890", nil, "use a wider type"),
		intoType[float64]("c_numeric", "1"+strings.Repeat("0", 400), nil, "json.Number"),
		intoType[float32]("c_float8", "1e300", nil, "out of range"),
		intoType[string]("c_bool", "true", nil, "text and numbers"),
		intoType[[]byte]("c_text", "plain", nil, "use string"),
		intoType[[]byte]("c_xml", "<a/>", nil, "use string"),
		intoType[[2]byte]("c_bytea", `\x00`, nil, "use []byte"),
		intoType[pgtype.Range[int32]]("c_int4range", null, nil, "").readable(),
		intoType[pgtype.Range[time.Time]]("c_daterange", "[2026-01-01,infinity)", decode.ErrInfinity, "use string"),
		intoType[pgtype.Range[int32]]("c_nummultirange", "{[1,2)}", nil, "use string"),
		intoType[pgtype.Range[time.Time]]("c_text", "plain", nil, "use string"),
	} {
		id := p.next()
		row := map[string]any{"id": id, c.column: c.text}
		if c.text == null {
			row[c.column] = nil
		}
		if _, err := dbaccess.Exec(over(t, dbaccess.Direct), p.DB, query.Insert("all_types", row)); err != nil {
			t.Fatalf("%s: %v%s", c.column, err, serverWords(err))
		}
		var texts [2]string
		for i, path := range bothPaths {
			err := c.read(t, p, path, id)
			if c.advice == "" {
				if err != nil {
					t.Errorf("%s over %s: %v", c.column, path, err)
				}
				continue
			}
			typeError, ok := errors.AsType[*decode.TypeError](err)
			if !ok {
				t.Errorf("%s over %s: %v, want a TypeError", c.column, path, err)
				continue
			}
			if texts[i] = typeError.Error(); !strings.Contains(texts[i], c.advice) || !strings.Contains(err.Error(), c.advice) {
				t.Errorf("%s over %s: %v, want %q", c.column, path, err, c.advice)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%s over %s: %v is not %v", c.column, path, err, c.is)
			}
			// A map stands for the row here, and its keys are data: the name of the column is that of a struct's field.
			if len(c.text) > 3 && strings.Contains(err.Error(), c.text) {
				t.Errorf("%s over %s: the error tells the value: %v", c.column, path, err)
			}
		}
		if texts[0] != texts[1] {
			t.Errorf("%s: %q over REST and %q directly", c.column, texts[0], texts[1])
		}
	}
}

func (u unreadable) readable() unreadable { u.advice = ""; return u }

func TestErrorsNameTheColumn(t *testing.T) {
	t.Parallel()
	p := open(t)
	type row struct {
		ID int       `db:"id"`
		At time.Time `db:"c_timestamp"`
	}
	for _, path := range bothPaths {
		_, err := dbaccess.All[row](over(t, path), p.DB, query.From("all_types").Where(query.Eq("id", 4)))
		if !errors.Is(err, decode.ErrInfinity) || !strings.Contains(err.Error(), "c_timestamp") {
			t.Errorf("read over %s: %v", path, err)
		}
		for name, q := range map[string]query.Query{
			"a channel":        query.Insert("all_types", map[string]any{"c_text": make(chan int)}),
			"a zero byte":      query.Insert("all_types", map[string]any{"c_text": "s3cret\x00"}),
			"a bad number":     query.Insert("all_types", map[string]any{"c_text": typedNumber}),
			"no text":          query.From("all_types").Where(query.Eq("c_text", make(chan int))),
			"NULL in a filter": query.From("all_types").Where(query.Eq("c_text", (*string)(nil))),
		} {
			var err error
			if q.Spec().Op.Writes() {
				_, err = dbaccess.Exec(over(t, path), p.DB, q)
			} else {
				_, err = dbaccess.Count(over(t, path), p.DB, q)
			}
			if err == nil || !strings.Contains(err.Error(), "c_text") || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s over %s: %v", name, path, err)
			}
		}
	}
}

var typedNumber = badNumber("s3cret")

// What Postgres refuses is one error over both paths, and changes nothing.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	p := open(t)
	for _, c := range []struct {
		column string
		value  any
		state  string
	}{
		{"c_int2", 1 << 20, "22003"},
		{"c_int4", 1.5, "22P02"},
		{"c_int8", uint64(math.MaxUint64), "22003"},
		{"c_int4", math.NaN(), "22P02"},
		{"c_time", noon, "22007"},
		{"c_date", time.Date(1e7, 1, 1, 0, 0, 0, 0, time.UTC), "22008"},
		{"c_uuid", []byte("0123456789abcdef"), "22P02"},
		{"c_inet", []byte{10, 0, 0, 1}, "22P02"},
		{"c_enum", tradeKind("steal"), "22P02"},
		{"c_int_arr", []any{1, "x"}, "22P02"},
		{"c_matrix", [][]int{{1}, {2, 3}}, "22P02"},
		{"c_int_arr", map[string]int{"a": 1}, "22P02"},
		{"c_int4range", pgtype.Range[int]{Lower: 5, Upper: 1, LowerType: pgtype.Inclusive, UpperType: pgtype.Exclusive, Valid: true}, "22000"},
		{"c_bit", "10", "22026"},
		{"c_varchar", strings.Repeat("x", 21), "22001"},
		{"c_xml", "<a>", "2200N"},
		{"c_jsonb", rawOf(`"\u0000"`), "22P05"},
	} {
		for _, path := range bothPaths {
			id := p.next()
			_, err := dbaccess.Exec(over(t, path), p.DB, query.Insert("all_types", map[string]any{"id": id, c.column: c.value}))
			e, ok := errors.AsType[*dbaccess.Error](err)
			if !ok || e.SQLState != c.state || !errors.Is(err, dbaccess.ErrInvalid) {
				t.Errorf("%T into %s over %s: %v%s, want %s", c.value, c.column, path, err, serverWords(err), c.state)
			}
			n, err := dbaccess.Count(over(t, path), p.DB, query.From("all_types").Where(query.Eq("id", id)))
			if err != nil || n != 0 {
				t.Errorf("%T into %s over %s: %d rows were added, %v", c.value, c.column, path, n, err)
			}
		}
	}
}
