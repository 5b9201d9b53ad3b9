package dbprom_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/dbprom"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// oneRow stands in for a path to a database.
type oneRow struct{}

func (oneRow) Do(context.Context, *dbaccess.Call) (*dbaccess.Result, error) {
	return &dbaccess.Result{Body: []byte(`[{"ticker":"ACME"}]`), Rows: 1, Total: -1, Status: http.StatusOK}, nil
}
func (oneRow) Close(context.Context) error { return nil }

func ExampleNew() {
	metrics, err := dbprom.New(dbprom.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	db, err := dbaccess.New(dbaccess.Config{
		Direct:    oneRow{},
		Default:   &auth.Identity{Role: "anon"},
		Observers: []dbaccess.Observer{metrics},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := dbaccess.JSON(context.Background(), db, query.From("companies").Named("companies")); err != nil {
		fmt.Println(err)
	}
	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		fmt.Println(f.GetName(), len(f.GetMetric()))
	}
	// Output:
	// twinpath_call_duration_seconds 1
	// twinpath_call_rows_total 1
}
