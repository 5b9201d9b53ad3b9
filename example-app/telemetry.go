package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/getsentry/sentry-go"

	"github.com/twinpath/twinpath/example-app/internal/waterfall"
)

const (
	spotlightHealth = "http://127.0.0.1:8969/health"
	spotlightDSN    = "http://demo@127.0.0.1:8969/1" // Spotlight takes any key and project

	tracesKept = 300
)

// telemetry is where transactions go.
type telemetry struct {
	hub    *sentry.Hub
	traces *waterfall.Recorder
	where  string // completes "transactions go to …"
}

// newTelemetry makes a Sentry client of its own, so that Main leaves nothing in the process's globals.
func newTelemetry(ctx context.Context, dsn string) (*telemetry, error) {
	t := &telemetry{traces: waterfall.NewRecorder(tracesKept)}
	switch {
	case dsn != "":
		t.where = "sent to the project of SENTRY_DSN and kept here"
	case spotlightAnswers(ctx):
		dsn, t.where = spotlightDSN, "sent to Spotlight on http://127.0.0.1:8969 and kept here"
	default:
		t.where = "kept here and sent nowhere"
	}
	client, err := sentry.NewClient(sentry.ClientOptions{
		Dsn:                    dsn,
		Environment:            "demo",
		EnableTracing:          true,
		TracesSampleRate:       1,
		TraceIgnoreStatusCodes: [][]int{}, // a 404 of ours is worth a look
		BeforeSendTransaction:  t.traces.BeforeSend,
	})
	if err != nil {
		return nil, errors.New("SENTRY_DSN is no DSN: copy it from the project's settings, Client Keys") // err may quote it
	}
	t.hub = sentry.NewHub(client, sentry.NewScope())
	return t, nil
}

// close sends what is still queued.
func (t *telemetry) close() {
	t.hub.Flush(2 * time.Second)
	t.hub.Client().Close()
}

func spotlightAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, spotlightHealth, nil)
	if err != nil {
		return false
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}
