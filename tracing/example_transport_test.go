package tracing_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/getsentry/sentry-go"
	"github.com/supabase-community/postgrest-go"

	"github.com/twinpath/twinpath/tracing"
)

// clients is a Sentry transport that prints the spans of HTTP requests.
type clients struct{ sentry.MockTransport }

func (*clients) SendEvent(e *sentry.Event) {
	for _, s := range e.Spans {
		if s.Op == "http.client" {
			fmt.Println(s.Data["http.request.method"], s.Data["url.template"], s.Data["http.response.status_code"], s.Data["http.connection"])
		}
	}
}

// printingClients starts a transaction that prints when it is finished, and returns
// what closes its Sentry client too.
func printingClients() (*tracing.Transaction, func(), error) {
	client, err := sentry.NewClient(sentry.ClientOptions{EnableTracing: true, TracesSampleRate: 1, Dsn: "http://key@sentry.invalid/1", Transport: &clients{}})
	if err != nil {
		return nil, nil, err
	}
	ctx := sentry.SetHubOnContext(context.Background(), sentry.NewHub(client, sentry.NewScope()))
	return tracing.NewTransaction(sentry.StartTransaction(ctx, "job"), tracing.DefaultMaxSpans), client.Close, nil
}

func ExampleNewTransport() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer srv.Close()
	tx, closeSentry, err := printingClients()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer closeSentry()

	client := &http.Client{Transport: tracing.NewTransport(nil, tracing.PathTemplate(func(*http.Request) string { return "/users/{id}" }))}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(tx.Context(), http.MethodGet, srv.URL+"/users/4711", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	tx.Finish()
	// Output: GET /users/{id} 200 new
}

func ExampleBindTransport() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `[{"ticker":"ACME"}]`) }))
	defer srv.Close()
	tx, closeSentry, err := printingClients()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer closeSentry()
	base := &http.Transport{} // shared by all requests
	defer base.CloseIdleConnections()

	client := postgrest.NewClient(srv.URL+"/rest/v1", "", nil)
	client.Transport.Parent = tracing.BindTransport(tx.Context(), base)
	rows, _, err := client.From("companies").Select("ticker", "", false).Execute()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(rows))
	tx.Finish()
	// Output:
	// [{"ticker":"ACME"}]
	// GET /rest/v1/companies 200 new
}
