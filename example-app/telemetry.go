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
	defaultSpotlight = "127.0.0.1:8969"

	tracesKept = 300
)

// telemetry is where transactions go.
type telemetry struct {
	hub    *sentry.Hub
	traces *waterfall.Recorder
	where  string // completes "transactions go to …"
}

// newTelemetry makes a Sentry client of its own, so that Main leaves nothing in the process's globals. It
// sends to dsn, else to the sidecar on the host and port of spotlight, should one answer there.
func newTelemetry(ctx context.Context, dsn, spotlight string) (*telemetry, error) {
	t := &telemetry{traces: waterfall.NewRecorder(tracesKept)}
	switch {
	case dsn != "":
		t.where = "sent to the project of SENTRY_DSN and kept here"
	case spotlightAnswers(ctx, spotlight):
		dsn = "http://demo@" + spotlight + "/1" // Spotlight takes any key and project
		t.where = "sent to Spotlight on http://" + spotlight + " and kept here"
	default:
		t.where = "kept here and sent nowhere"
	}
	client, err := sentry.NewClient(sentry.ClientOptions{
		Dsn:                   dsn,
		Environment:           "demo",
		EnableTracing:         true,
		TracesSampleRate:      1,
		BeforeSendTransaction: t.traces.BeforeSend,
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

func spotlightAnswers(ctx context.Context, spotlight string) bool {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+spotlight+"/health", nil)
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
