package tracing_test

import (
	"context"
	"fmt"
	"time"

	"github.com/getsentry/sentry-go"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/tracing"
)

// oneRow stands in for a path to a database.
type oneRow struct{}

func (oneRow) Do(context.Context, *dbaccess.Call) (*dbaccess.Result, error) {
	return &dbaccess.Result{Body: []byte(`[{"ticker":"ACME"}]`), Rows: 1, Total: -1, Status: 200}, nil
}
func (oneRow) Close(context.Context) error { return nil }

// printing is a Sentry transport that prints spans.
type printing struct{ sentry.MockTransport }

func (*printing) SendEvent(e *sentry.Event) {
	fmt.Println(e.Transaction)
	for _, s := range e.Spans {
		fmt.Println(" ", s.Op, "|", s.Description, "|", s.Data["db.access_path"], "|", s.Data["db.response.returned_rows"], "rows")
	}
}

func ExampleNewObserver() {
	client, err := sentry.NewClient(sentry.ClientOptions{EnableTracing: true, TracesSampleRate: 1, Dsn: "http://key@sentry.invalid/1", Transport: &printing{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	db, err := dbaccess.New(dbaccess.Config{
		Direct:    oneRow{},
		Default:   &auth.Identity{Role: "anon"},
		Observers: []dbaccess.Observer{tracing.NewObserver(tracing.Slow(50 * time.Millisecond))},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := sentry.SetHubOnContext(context.Background(), sentry.NewHub(client, sentry.NewScope()))

	tx := tracing.NewTransaction(sentry.StartTransaction(ctx, "nightly import"), tracing.DefaultMaxSpans)
	if _, err := dbaccess.JSON(tx.Context(), db, query.From("companies").Where(query.Eq("ticker", "ACME"))); err != nil {
		fmt.Println(err)
	}
	tx.Finish()
	// Output:
	// nightly import
	//   db | select companies by ticker | direct | 1 rows
}
