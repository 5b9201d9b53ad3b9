package main_test

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/example-app/internal/waterfall"
)

func jsonNumber(n int64) string { return strconv.FormatInt(n, 10) }

// TestFlag moves the flag, which is everybody's, so it doesn't run beside others.
func TestFlag(t *testing.T) {
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	set := func(percent string, want int) {
		t.Helper()
		if a := request(t, http.MethodPost, "/flag", "percent="+percent, form.Clone()); a.status != want {
			t.Fatalf("percent %q: status %d, want %d", percent, a.status, want)
		}
	}
	t.Cleanup(func() { set("50", http.StatusSeeOther) })
	for percent, want := range map[string]string{"0": "rest", "100": "direct"} {
		set(percent, http.StatusSeeOther)
		for range 5 {
			if a := get(t, "/api/sectors"); a.header.Get("X-Access-Path") != want || a.header.Get("X-Access-Reason") != "percent" {
				t.Errorf("at %s %%: path %q, reason %q", percent, a.header.Get("X-Access-Path"), a.header.Get("X-Access-Reason"))
			}
		}
		if a := get(t, "/api/sectors?path=rest"); a.header.Get("X-Access-Path") != "rest" || a.header.Get("X-Access-Reason") != "override" {
			t.Errorf("the switch: path %q, reason %q", a.header.Get("X-Access-Path"), a.header.Get("X-Access-Reason"))
		}
		if page := get(t, "/"); !strings.Contains(page.body, percent+" % of the users on direct") {
			t.Errorf("the page does not show the flag at %s %%", percent)
		}
	}
	for _, bad := range []string{"", "-1", "101", "NaN", "many"} {
		set(bad, http.StatusBadRequest)
	}
	// The header that chooses a path is the switch's own, not the caller's.
	a := request(t, http.MethodGet, "/api/sectors", "", http.Header{"X-Db-Access-Path": {"rest"}})
	if got := a.header.Get("X-Access-Reason"); got != "percent" {
		t.Errorf("a header of the caller decides: reason %q", got)
	}
}

func TestTraces(t *testing.T) {
	const route = "GET /api/stocks/:ticker/insider-transactions"
	for _, path := range []string{"rest", "direct"} {
		if a := get(t, "/api/stocks/NRVA/insider-transactions?insider=Abell&path="+path); a.status != http.StatusOK {
			t.Fatalf("status %d", a.status)
		}
	}
	a := get(t, "/api/debug/traces")
	for _, value := range []string{"NRVA", "Abell", "Bearer", stockAlice} {
		if strings.Contains(a.body, value) {
			t.Errorf("the traces hold a value: %s", value)
		}
	}
	traces := decode[struct{ Traces []waterfall.Trace }](t, a).Traces
	for path, wanted := range map[string][]string{
		"rest": {"prepare", "send", "decode"}, "direct": {"prepare", "network+pooler", "database", "decode"},
	} {
		i := slices.IndexFunc(traces, func(tr waterfall.Trace) bool { return tr.Name == route && tr.Path == path })
		if i < 0 {
			t.Fatalf("no trace of %s over %s", route, path)
		}
		checkTrace(t, traces[i], wanted)
	}

	page := get(t, "/traces")
	for _, want := range []string{route, `data-side="rest"`, `data-side="direct"`, `data-phase="network&#43;pooler"`, `data-phase="send"`, "<rect "} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the trace page has no %s", want)
		}
	}
	if csp := page.header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") {
		t.Errorf("content security policy %q", csp)
	}
	if strings.Contains(page.body, "style=") {
		t.Error("the trace page has styles that its content security policy refuses")
	}
	if a := get(t, "/traces?scale=own&route="+strings.ReplaceAll(route, " ", "+")); !strings.Contains(a.body, "on a scale of its own") {
		t.Error("the drawings can't have scales of their own")
	}
}

// checkTrace checks that a trace is one database call whose phases follow each other.
func checkTrace(t *testing.T, tr waterfall.Trace, wanted []string) {
	t.Helper()
	if tr.Status != "ok" || len(tr.Spans) < 2 || tr.Spans[0].Op != "db" || tr.Spans[0].Depth != 1 {
		t.Fatalf("%s over %s: %+v", tr.Name, tr.Path, tr)
	}
	call := tr.Spans[0]
	var names []string
	for _, s := range tr.Spans[1:] {
		parent := slices.IndexFunc(tr.Spans, func(p waterfall.Span) bool { return p.ID == s.ParentID })
		if parent < 0 || s.Phase == "" || s.Depth != tr.Spans[parent].Depth+1 {
			t.Errorf("%s is no phase of the call", s.Name)
			continue
		}
		if in := tr.Spans[parent]; s.OffsetMS < in.OffsetMS-0.01 || s.OffsetMS+s.DurationMS > in.OffsetMS+in.DurationMS+0.01 {
			t.Errorf("the phase %s sticks out of %s", s.Name, in.Name)
		}
		names = append(names, s.Phase)
	}
	for _, w := range wanted {
		if !slices.Contains(names, w) {
			t.Errorf("%s: phases %v, no %s", tr.Path, names, w)
		}
	}
	if math.IsNaN(call.DurationMS) || call.DurationMS <= 0 || call.DurationMS > tr.DurationMS+0.01 {
		t.Errorf("the call took %g ms of the request's %g ms", call.DurationMS, tr.DurationMS)
	}
	if i := slices.IndexFunc(call.Attributes, func(a waterfall.Attribute) bool { return a.Name == "db.access_path" }); i < 0 || call.Attributes[i].Value != tr.Path {
		t.Errorf("the call's attributes are %v", call.Attributes)
	}
}
