package compile_test

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	q "github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func benchSpec() q.Spec {
	return q.From("insider_transactions").
		Columns("id", "ticker", "kind", "shares", "price", "filed_at", "note").
		Where(q.Eq("ticker", "T05"), q.Gte("filed_at", "2026-01-01T00:00:00Z"), q.In("kind", "buy", "sell")).
		OrderBy(q.Desc("filed_at"), q.Asc("id")).
		Limit(50).Spec()
}

func BenchmarkREST(b *testing.B) {
	s := benchSpec()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compile.REST(&s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSQL(b *testing.B) {
	s := benchSpec()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := compile.SQL(&s, compile.SQLOptions{Schema: "public", Clock: true}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSQLInsert(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s, c := manyPrices(n).Spec(), fixture(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := compile.SQL(&s, compile.SQLOptions{Schema: "public", Catalog: c, Guard: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Ten thousand rows as one statement, beside COPY, which takes no types from JSON,
// merges nothing and returns nothing. Building the query is part of the first.
func BenchmarkServerInsert(b *testing.B) {
	const n = 10_000
	db := pgtest.Golden(b)
	opts := compile.SQLOptions{Catalog: loadCatalog(b, db)}
	conn := connect(b, db.SuperDSN)
	exec := func(sql string) {
		if _, err := conn.Exec(b.Context(), sql).ReadAll(); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("statement", func(b *testing.B) {
		for b.Loop() {
			exec("begin")
			if _, err := do(b, conn, manyPrices(n), nil, opts); err != nil {
				b.Fatal(err)
			}
			exec("rollback")
		}
	})
	b.Run("copy", func(b *testing.B) {
		for b.Loop() {
			exec("begin")
			var rows bytes.Buffer
			for i := range n {
				fmt.Fprintf(&rows, "T01\t%04d-%02d-%02d\t1.25\t%d\n", 2100+i/336, 1+i/28%12, 1+i%28, i)
			}
			if _, err := conn.CopyFrom(b.Context(), &rows, "copy public.prices (ticker, day, close, volume) from stdin"); err != nil {
				b.Fatal(err)
			}
			exec("rollback")
		}
	})
}
