package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/supabase-community/postgrest-go"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

// filing is a row as an application has it.
type filing struct {
	ID     int64   `json:"id"`
	Ticker string  `json:"ticker"`
	Kind   string  `json:"kind"`
	Shares float64 `json:"shares"`
	Note   *string `json:"note"`
}

func filings(n int) string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id":%d,"ticker":"T%02d","kind":"buy","shares":%d.5,"note":null}`, i, i%20, i*10)
	}
	return "[" + strings.Join(rows, ", \n ") + "]"
}

var filingsQuery = query.From("insider_transactions").
	Columns("id", "ticker", "kind", "shares", "note").
	Where(query.Eq("ticker", "T05"), query.Gte("shares", 100)).
	OrderBy(query.Desc("id")).Limit(50)

// BenchmarkDo compares a call with what an application would have written,
// decoding included on both sides; the decoder here is encoding/json.
func BenchmarkDo(b *testing.B) {
	for _, n := range []int{1, 50} {
		body := filings(n)
		url := backendURL(b, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.Header().Set("Content-Range", fmt.Sprintf("0-%d/*", n-1))
			_, _ = io.WriteString(w, body)
		})
		ours, err := rest.New(rest.Config{URL: url})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = ours.Close(context.Background()) })
		spec := filingsQuery.Spec()
		callers := map[string]func() error{
			"rest": func() error {
				res, err := ours.Do(context.Background(), &dbaccess.Call{Query: &spec, Identity: anon})
				if err != nil {
					return err
				}
				var rows []filing
				return json.Unmarshal(res.Body, &rows)
			},
			"postgrest-go": bare(url),
		}
		for _, name := range []string{"rest", "postgrest-go"} {
			do := callers[name]
			b.Run(fmt.Sprintf("%s/rows=%d/callers=1", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := do(); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("%s/rows=%d/callers=32", name, n), func(b *testing.B) {
				b.ReportAllocs()
				b.SetParallelism(16)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := do(); err != nil {
							b.Error(err)
						}
					}
				})
			})
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// bare is postgrest-go as its README shows it, with the filters that it does not
// lose.
func bare(url string) func() error {
	client := postgrest.NewClient(url, "", nil)
	return func() error {
		var rows []filing
		_, err := client.From("insider_transactions").
			Select("id,ticker,kind,shares,note", "", false).
			Eq("ticker", "T05").Gte("shares", "100").
			Order("id", &postgrest.OrderOpts{}).Limit(50, "").
			ExecuteTo(&rows)
		return err
	}
}
