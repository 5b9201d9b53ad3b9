package dbaccess_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
)

func TestForwardHeaders(t *testing.T) {
	t.Parallel()
	const canary = "canary-7d21"
	long := strings.Repeat("x", dbaccess.MaxForwardedHeaders)
	for _, tt := range []struct {
		name    string
		forward []string
		request http.Header
		want    http.Header
		status  int // of the error
	}{
		{"nothing named", nil, http.Header{"X-Tenant": {"1"}}, nil, 0},
		{"no request", []string{"X-Tenant"}, nil, nil, 0},
		{"not in the request", []string{"X-Tenant"}, http.Header{"X-Other": {canary}}, nil, 0},
		{"in any case, once", []string{"x-TENANT", "X-Tenant"}, http.Header{"X-Tenant": {"1"}}, http.Header{"X-Tenant": {"1"}}, 0},
		{"several values", []string{"X-Tenant"}, http.Header{"X-Tenant": {"1", "2"}}, http.Header{"X-Tenant": {"1", "2"}}, 0},
		{"only those named", []string{"X-A", "Cookie"}, http.Header{"X-A": {""}, "X-B": {canary}, "Cookie": {"a=b"}, "Authorization": {canary}},
			http.Header{"X-A": {""}, "Cookie": {"a=b"}}, 0},
		{"not ASCII", []string{"X-A"}, http.Header{"X-A": {"é\tü"}}, http.Header{"X-A": {"é\tü"}}, 0},
		{"as long as may be", []string{"X-A"}, http.Header{"X-A": {long[3:]}}, http.Header{"X-A": {long[3:]}}, 0},
		{"too long", []string{"X-A"}, http.Header{"X-A": {long[2:]}}, nil, 431},
		{"too long together", []string{"X-A", "X-B"}, http.Header{"X-A": {long[9:]}, "X-B": {canary}}, nil, 431},
		{"control character", []string{"X-A"}, http.Header{"X-A": {canary + "\r\nX-B: 1"}}, nil, 400},
		{"zero byte", []string{"X-A"}, http.Header{"X-A": {canary + "\x00"}}, nil, 400},
		{"not UTF-8", []string{"X-A"}, http.Header{"X-A": {canary + "\xff"}}, nil, 400},
	} {
		backend := &fakeBackend{body: "[]"}
		db := mustNew(t, dbaccess.Config{Direct: backend, ForwardHeaders: tt.forward})
		ctx := asAnon(t.Context())
		if tt.request != nil {
			ctx = dbaccess.WithRequestHeaders(ctx, tt.request)
		}
		_, err := dbaccess.JSON(ctx, db, query.From("t"))
		if tt.status != 0 {
			e, ok := errors.AsType[*dbaccess.Error](err)
			if !ok || !errors.Is(err, dbaccess.ErrInvalid) || e.HTTPStatus != tt.status || len(backend.calls) != 0 {
				t.Errorf("%s: error %v after %d calls, want status %d and none", tt.name, err, len(backend.calls), tt.status)
			}
			if err != nil && (strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), "Config.ForwardHeaders")) {
				t.Errorf("%s: the error should name the setting and no value: %v", tt.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, backend.headers[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestForwardHeadersRefused(t *testing.T) {
	t.Parallel()
	refused := []string{
		"Authorization", "apikey", "ACCEPT", "Accept-Profile", "accept-encoding", "Content-Type", "content-profile", "Content-Length",
		"Prefer", "Host", "Range", "Range-Unit", "Connection", "Keep-Alive", "TE", "Transfer-Encoding", "Upgrade", "Proxy-Authorization",
		"If-None-Match", "Idempotency-Key", "x-idempotency-key", "", "X A", "X-A:", "X-Ä",
	}
	_, err := dbaccess.New(dbaccess.Config{Direct: &fakeBackend{}, ForwardHeaders: append([]string{"X-Fine", "Cookie", "Accept-Language"}, refused...)})
	if err == nil {
		t.Fatal("New takes them all")
	}
	if got := strings.Count(err.Error(), "ForwardHeaders must not have"); got != len(refused) {
		t.Errorf("%d names refused, want %d: %v", got, len(refused), err)
	}
	for _, name := range refused {
		if !strings.Contains(err.Error(), `"`+name+`"`) {
			t.Errorf("the error does not name %q: %v", name, err)
		}
	}
}

func TestCallWithoutHeadersCostsNothing(t *testing.T) {
	t.Parallel()
	backend := &fakeBackend{body: "[]"}
	db := mustNew(t, dbaccess.Config{Direct: backend})
	ctx := dbaccess.WithRequestHeaders(asAnon(context.Background()), http.Header{"Cookie": {"a=b"}})
	if _, err := dbaccess.JSON(ctx, db, query.From("t")); err != nil || backend.headers[0] != nil {
		t.Errorf("headers %v, error %v; want none", backend.headers[0], err)
	}
}
