package browser_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestSpotlight opens a request of each path in Spotlight, and finds its waterfall and its attributes
// there.
func TestSpotlight(t *testing.T) {
	spotlight := startSpotlight(t)
	d := startDemo(t, "http://demo@"+spotlight+"/1", "--rtt", "5ms")
	tb := openTab(t)
	tb.do(chromedp.EmulateViewport(1420, 1500))
	for path, phases := range map[string][]string{
		"rest":   {"prepare", "connect", "send", "wait", "wait: postgrest.transaction", "body", "decode"},
		"direct": {"prepare", "acquire", "acquire: connect", "connect: startup", "network+pooler", "database", "rows", "decode"},
	} {
		tr := d.coldTrace(t, path)
		// The list of traces, and in it the one.
		row := fmt.Sprintf(`[id=%q]`, tr.TraceID)
		tb.do(chromedp.Navigate("http://" + spotlight + "/"))
		tb.press(row + ` a[href*="/telemetry/traces/"]`)
		tree := row + ` ul.tree li > a[href*="/spans/"]`
		tb.do(chromedp.WaitVisible(tree + ` span[title="decode"]`))
		spans := tb.attributes(tree+" span[title]", "title")
		if want := []string{"GET " + coldRoute, coldQuery}; len(spans) < 2 || !slices.Equal(spans[:2], want) {
			t.Errorf("%s: the trace begins with the spans %q, want %q", path, spans, want)
		}
		for _, phase := range phases {
			if !slices.Contains(spans, phase) {
				t.Errorf("%s: the trace has the spans %q, and no %s", path, spans, phase)
			}
		}
		bars := eval[[]float64](tb, `[...document.querySelectorAll(%q)].map((e) => e.getBoundingClientRect().width)`, tree+` .waterfall > div:has(> span)`)
		if len(bars) != len(spans) || slices.Min(bars) <= 0 {
			t.Errorf("%s: bars of the widths %v for %d spans", path, bars, len(spans))
		}

		// The call's span, and beside it its attributes, which are folded at first.
		attributes := row + ` .react-json-view`
		tb.press(tree + fmt.Sprintf(`:has(span[title=%q])`, coldQuery))
		tb.until(`document.querySelectorAll(%q).length == 1`, attributes) // the request's own are in several
		tb.press(attributes + ` .collapsed-icon`)
		tb.do(chromedp.WaitReady(attributes + ` .variable-row`))
		panel := strings.Join(tb.texts(attributes), "\n")
		for _, want := range []string{`db.access_path:"` + path + `"`, `db.query.summary:"` + coldQuery + `"`, `cold.reason:"new_connection"`} {
			if !strings.Contains(panel, want) {
				t.Errorf("%s: beside the call's span there is no %s:\n%s", path, want, panel)
			}
		}
		eval[any](tb, readable, row, attributes)
		tb.picture("spotlight-"+path, row)
	}
}

// readable leaves the one trace on the page and of its attributes the first, and gives the names of the
// spans more room than Spotlight does.
const readable = `((row, attributes) => {
	for (const other of row.parentElement.children) other.hidden = other !== row;
	row.querySelector("ul.tree").parentElement.closest(".overflow-y-auto").style.width = "64%%";
	row.querySelectorAll(".node").forEach((e) => { e.style.width = "53%%"; });
	row.querySelectorAll(".waterfall").forEach((e) => { e.style.left = "53%%"; });
	attributes.style.maxHeight = "10em";
	attributes.style.overflow = "hidden";
})(document.querySelector(%q), document.querySelector(%q))`

const (
	coldRoute = "/api/stocks/:ticker/insider-transactions"
	coldQuery = "select insider_transactions by ticker"
)

// coldTrace makes more and more requests at a time, for which there are not enough kept connections, and
// returns the shortest trace of those that made one.
func (d *demo) coldTrace(t *testing.T, path string) trace {
	t.Helper()
	for atATime := 2; atATime <= 6; atATime += 2 {
		var all sync.WaitGroup
		for range atATime {
			all.Go(func() { d.get(t, strings.Replace(coldRoute, ":ticker", "NRVA", 1)+"?path="+path) })
		}
		all.Wait()
	}
	var found *trace
	traces := d.traces(t)
	for i := range traces {
		tr := &traces[i]
		if tr.Path == path && tr.Name == "GET "+coldRoute && tr.has("connect") && (found == nil || tr.DurationMS < found.DurationMS) {
			found = tr
		}
	}
	if found == nil {
		t.Fatalf("%s: no request made a connection", path)
	}
	return *found
}
