package tracing_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/getsentry/sentry-go"

	"github.com/twinpath/twinpath/tracing"
)

func ExampleHeaders() {
	tx := tracing.NewTransaction(sentry.StartTransaction(context.Background(), "nightly import"), tracing.DefaultMaxSpans)
	defer tx.Finish()

	req, err := http.NewRequestWithContext(tx.Context(), http.MethodGet, "http://prices.internal/", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	tracing.Headers(req.Context()).Inject(req.Header)
	fmt.Println(strings.HasPrefix(req.Header.Get("sentry-trace"), tx.Root().TraceID.String()))
	// Output: true
}

func ExampleContinue() {
	transport := &sentry.MockTransport{}
	client, err := sentry.NewClient(sentry.ClientOptions{EnableTracing: true, TracesSampleRate: 1, Dsn: "http://key@sentry.invalid/1", Transport: transport})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	ctx := sentry.SetHubOnContext(context.Background(), sentry.NewHub(client, sentry.NewScope()))
	request := tracing.NewTransaction(sentry.StartTransaction(ctx, "POST /imports"), tracing.DefaultMaxSpans)

	var jobs sync.WaitGroup
	jobCtx := context.WithoutCancel(request.Context()) // the job goes on without the request
	jobs.Go(func() {
		tx := tracing.Continue(jobCtx, "import", sentry.WithOpName("task"))
		defer tx.Finish()
		// database calls with tx.Context()
	})
	request.Finish()
	jobs.Wait()
	traces := map[any]bool{}
	for _, e := range transport.Events() {
		traces[e.Contexts["trace"]["trace_id"]] = true
	}
	fmt.Println(len(transport.Events()), "transactions in", len(traces), "trace")
	// Output: 2 transactions in 1 trace
}
