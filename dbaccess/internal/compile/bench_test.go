package compile_test

import (
	"testing"

	"github.com/twinpath/twinpath/dbaccess/internal/compile"
	q "github.com/twinpath/twinpath/dbaccess/query"
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
