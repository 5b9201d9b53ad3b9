package decode_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess/internal/decode"
)

// filing is the row of the benchmarks: ten columns of the usual types.
type filing struct {
	ID       int64           `json:"id"`
	Ref      string          `json:"ref"`
	Title    string          `json:"title"`
	Price    string          `json:"price"`
	Tags     []string        `json:"tags"`
	Detail   json.RawMessage `json:"detail"`
	FiledAt  time.Time       `json:"filed_at"`
	Late     bool            `json:"late"`
	Score    float64         `json:"score"`
	Quantity int32           `json:"quantity"`
}

// filings makes a body of n rows as json_agg writes them. The price is quoted so that encoding/json can read it too.
func filings(n int) []byte {
	var b strings.Builder
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteString(", \n ")
		}
		fmt.Fprintf(&b, `{"id":%d,"ref":"a0eebc99-9c0b-4ef8-bb6d-%012d","title":"Insider bought %d shares","price":"%d.50","tags":["form4","open market","ceo"],`+
			`"detail":{"form": "4", "lines": [1, 2, 3]},"filed_at":"2026-02-28T04:14:15.123456+00:00","late":%t,"score":%d.25,"quantity":%d}`,
			9007199254740993+i, i, i, 100+i, i%2 == 0, i, i)
	}
	b.WriteByte(']')
	return []byte(b.String())
}

// BenchmarkRows reads the same bodies as its peer encoding/json.
func BenchmarkRows(b *testing.B) {
	plan, err := decode.PlanFor[filing](new(decode.Cache))
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 50, 1000} {
		body := filings(n)
		b.Run(fmt.Sprintf("decode/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if rows, err := decode.Rows[filing](plan, body, decode.Options{}); err != nil || len(rows) != n {
					b.Fatal(len(rows), err)
				}
			}
		})
		b.Run(fmt.Sprintf("encodingjson/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				var rows []filing
				if err := json.Unmarshal(body, &rows); err != nil || len(rows) != n {
					b.Fatal(len(rows), err)
				}
			}
		})
	}
}
