package postgresttest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func ExampleNewServer() {
	db, drop, err := pgtest.OpenGolden(context.Background()) // any Postgres will do
	if err != nil {
		fmt.Println(err)
		return
	}
	defer drop()
	srv, err := postgresttest.NewServer(postgresttest.Config{DSN: db.DirectDSN})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(srv.URL + "/companies?select=ticker,name&ticker=eq.T01")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, resp.Header.Get("Content-Range"))
	fmt.Println(string(body))
	// Output:
	// 200 0-0/*
	// [{"ticker":"T01","name":"Company 1"}]
}
