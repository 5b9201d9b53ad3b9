package direct_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

const (
	aliceID = "11111111-1111-1111-1111-111111111111"
	bobID   = "22222222-2222-2222-2222-222222222222"
)

var (
	anon    = auth.Identity{Role: "anon"}
	none    = auth.Identity{Role: "NONE"}
	service = auth.Identity{Role: "service_role"}
	alice   = auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"` + aliceID + `"}`)}
	bob     = auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"` + bobID + `"}`)}
)

// open makes a backend that is closed when the test ends.
func open(tb testing.TB, cfg direct.Config) *direct.Backend {
	tb.Helper()
	b, err := direct.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return b
}

// call makes a call of a query.
func call(q query.Query, id auth.Identity) *dbaccess.Call {
	s := q.Spec()
	return &dbaccess.Call{Query: &s, Identity: id}
}

// body runs a query and returns the rows, with insignificant space removed.
func body(tb testing.TB, b dbaccess.Backend, q query.Query, id auth.Identity) string {
	tb.Helper()
	res, err := b.Do(tb.Context(), call(q, id))
	if err != nil {
		tb.Fatalf("%v: %v", q, err)
	}
	return compact(tb, res.Body)
}

func compact(tb testing.TB, b []byte) string {
	tb.Helper()
	if len(b) == 0 {
		return ""
	}
	var v json.RawMessage
	if err := json.Unmarshal(b, &v); err != nil {
		tb.Fatalf("body %q: %v", b, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

var lists = query.From("watchlists").Columns("id", "title").OrderBy(query.Asc("id"))
