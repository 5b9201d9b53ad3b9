package decode_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
)

func rangeOf[T any](lowerType byte, lower, upper T, upperType byte) pgtype.Range[T] {
	return pgtype.Range[T]{Lower: lower, Upper: upper, LowerType: pgtype.BoundType(lowerType), UpperType: pgtype.BoundType(upperType), Valid: true}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	type multirange = pgtype.Multirange[pgtype.Range[int]]
	runColumns(t, []columnCase{
		reads(`"[1,5)"`, rangeOf('i', 1, 5, 'e')),
		reads(`"(-1,5]"`, rangeOf('e', -1, 5, 'i')),
		reads(`"(,5]"`, rangeOf('U', 0, 5, 'i')),
		reads(`"[1,)"`, rangeOf('i', 1, 0, 'U')),
		reads(`"(,)"`, rangeOf('U', 0, 0, 'U')),
		reads(`"empty"`, rangeOf('E', 0, 0, 'E')),
		reads("null", pgtype.Range[int]{}),
		reads(`"[1.10,2]"`, rangeOf('i', "1.10", "2", 'i')),
		reads(`"[\"\",\"a\"\"b\\\\c,)\")"`, rangeOf('i', "", `a"b\c,)`, 'e')),
		reads(`"[a\\,b,c]"`, rangeOf('i', "a,b", "c", 'i')),
		reads(`"[2026-01-01,)"`, rangeOf('i', day, time.Time{}, 'U')),
		reads(`"[\"2026-01-01 00:00:00+00\",\"2026-01-01 09:00:00+09\"]"`, rangeOf('i', day, day, 'i')),
		reads(`"[1,5)"`, rangeOf('i', pgtype.Int4{Int32: 1, Valid: true}, pgtype.Int4{Int32: 5, Valid: true}, 'e')),
		reads(`["[1,5)","empty"]`, []pgtype.Range[int]{rangeOf('i', 1, 5, 'e'), rangeOf('E', 0, 0, 'E')}),

		reads(`"{}"`, multirange{}),
		reads(`"{[1,5),[7,)}"`, multirange{rangeOf('i', 1, 5, 'e'), rangeOf('i', 7, 0, 'U')}),
		reads("null", multirange(nil)),

		refuses[pgtype.Range[int]]("1", "only a range"),
		refuses[pgtype.Range[int]](`"[1.5,2)"`, "integer"),
		refuses[pgtype.Range[int]](`"[x,2)"`, "integer"),
		refuses[pgtype.Range[int]](`""`, "use string"),
		refuses[pgtype.Range[int]](`"[1"`, "use string"),
		refuses[pgtype.Range[int]](`"[1,2"`, "use string"),
		refuses[pgtype.Range[int]](`"[\"1,2)"`, "use string"),
		refuses[pgtype.Range[int]](`"[1,2)x"`, "use string"),
		refuses[pgtype.Range[int]](`"{[1,2)}"`, "use string"),
		refuses[pgtype.Range[int]](`"emptyx"`, "use string"),
		refuses[multirange](`"[1,2)"`, "use string"),
		refuses[multirange](`"{[1,2)"`, "use string"),
		refuses[multirange](`"{[1,2)[3,4)}"`, "use string"),
		refuses[multirange](`"{[1,2),}"`, "use string"),
		refuses[multirange](`"{[1,2)}x"`, "use string"),
		refuses[multirange](`["[1,2)"]`, "only a range"),
	})
	_, err := rows[cell[pgtype.Range[time.Time]]](t, `[{"v":"[2026-01-01,infinity)"}]`, decode.Options{})
	if !errors.Is(err, decode.ErrInfinity) {
		t.Errorf("an infinite bound: %v", err)
	}
	if _, err := decode.PlanFor[cell[pgtype.Range[chan int]]](new(decode.Cache)); err == nil {
		t.Error("a range of channels has a plan")
	}
	if _, err := decode.PlanFor[cell[pgtype.Multirange[pgtype.Range[chan int]]]](new(decode.Cache)); err == nil {
		t.Error("a multirange of channels has a plan")
	}
}

func FuzzRange(f *testing.F) {
	for _, s := range []string{`"[1,5)"`, `"(,\"a\"\"b\"]"`, `"{[1,2),(3,]}"`, `"empty"`, `"["`, `"[\\"`, `"\\u005b,)"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		body := []byte(`[{"v":` + s + `}]`)
		var ranges, multiranges decode.Cache
		p, err := decode.PlanFor[cell[pgtype.Range[string]]](&ranges)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decode.Rows[cell[pgtype.Range[string]]](p, body, decode.Options{}); err == nil && len(got) == 1 && got[0].V.Valid {
			r := got[0].V
			if (r.LowerType == pgtype.Empty) != (r.UpperType == pgtype.Empty) || r.LowerType == 0 || r.UpperType == 0 {
				t.Errorf("%s has bounds %v and %v", s, r.LowerType, r.UpperType)
			}
		}
		m, err := decode.PlanFor[cell[pgtype.Multirange[pgtype.Range[string]]]](&multiranges)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = decode.Rows[cell[pgtype.Multirange[pgtype.Range[string]]]](m, body, decode.Options{})
	})
}

func TestHardwareAddr(t *testing.T) {
	t.Parallel()
	runColumns(t, []columnCase{
		reads(`"08:00:2b:01:02:03"`, net.HardwareAddr{8, 0, 0x2b, 1, 2, 3}),
		reads(`"08:00:2b:01:02:03:04:05"`, net.HardwareAddr{8, 0, 0x2b, 1, 2, 3, 4, 5}),
		reads("null", net.HardwareAddr(nil)),
		refuses[net.HardwareAddr](`"plain"`, "not a macaddr"),
		refuses[net.HardwareAddr]("7", "only macaddr"),
	})
}

// TestSpecialsFallToScan reads what the JSON methods of pgtype refuse.
func TestSpecialsFallToScan(t *testing.T) {
	t.Parallel()
	ides := time.Date(-43, 3, 15, 0, 0, 0, 0, time.UTC)
	for body, want := range map[string]any{
		`"NaN"`:                          pgtype.Numeric{NaN: true, Valid: true},
		`"0044-03-15 BC"`:                pgtype.Date{Time: ides, Valid: true},
		`"0044-03-15T00:00:00 BC"`:       pgtype.Timestamp{Time: ides, Valid: true},
		`"0044-03-15T00:00:00+00:00 BC"`: pgtype.Timestamptz{Time: ides, Valid: true},
	} {
		var got any
		var err error
		switch want.(type) {
		case pgtype.Numeric:
			got, err = one[pgtype.Numeric](t, body)
		case pgtype.Date:
			got, err = one[pgtype.Date](t, body)
		case pgtype.Timestamp:
			got, err = one[pgtype.Timestamp](t, body)
		case pgtype.Timestamptz:
			got, err = one[pgtype.Timestamptz](t, body)
		}
		if err != nil {
			t.Errorf("%s: %v", body, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
	if got, err := one[pgtype.Float8](t, `"Infinity"`); err != nil || !got.Valid || got.Float64 <= 0 {
		t.Errorf("Infinity: %v, %v", got, err)
	}
	// Anything else that UnmarshalJSON refuses stays refused, however much Scan would take.
	if _, err := one[strictJSON](t, `"other"`); err == nil {
		t.Error("a text that UnmarshalJSON refuses was given to Scan")
	}
	if _, err := one[strictJSON](t, `"2026-01-01"`); err != nil {
		t.Errorf("a date that UnmarshalJSON refuses was not given to Scan: %v", err)
	}
}

// strictJSON takes no JSON, and scans anything.
type strictJSON struct{ scanned any }

func (*strictJSON) UnmarshalJSON([]byte) error { return errors.New("no") }
func (s *strictJSON) Scan(src any) error       { s.scanned = src; return nil }

func one[T any](t *testing.T, value string) (T, error) {
	t.Helper()
	got, err := rows[cell[T]](t, `[{"v":`+value+`}]`, decode.Options{})
	if err != nil {
		var zero T
		return zero, err
	}
	return got[0].V, nil
}
