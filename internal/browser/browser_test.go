package browser_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
)

// TestVisit is a visitor's walk: the home page, both paths, the traces, a user, the flag.
func TestVisit(t *testing.T) {
	d := startDemo(t, "")
	tb := openTab(t)

	tb.do(chromedp.Navigate(d.url))
	first := tb.loaded("")
	if want := slices.Repeat([]string{"direct"}, 9); !slices.Equal(tb.paths(), want) {
		t.Errorf("paths by the flag, which sends all to direct: %v", tb.paths())
	}

	tb.do(chromedp.Click(`#switch [data-path="rest"]`))
	rest := tb.loaded("rest")
	tb.screenshot("home-rest")
	tb.do(chromedp.Click(`#switch [data-path="direct"]`))
	direct := tb.loaded("direct")
	tb.screenshot("home")
	if diff := cmp.Diff(rest, direct); diff != "" {
		t.Errorf("the widgets differ between the paths (-rest +direct):\n%s", diff)
	}
	if diff := cmp.Diff(first, direct); diff != "" {
		t.Errorf("the widgets differ between loads (-first +last):\n%s", diff)
	}
	for _, text := range tb.texts(".totals .text") {
		if !strings.Contains(text, "ms, 14 calls") {
			t.Errorf("totals say %q, want the time of 14 calls", text)
		}
	}

	tb.do(chromedp.Click("#traces-link"), chromedp.WaitVisible(".pair .waterfall"))
	tb.hasPhases("rest", "send", "decode")
	tb.hasPhases("direct", "network+pooler", "database", "decode")
	tb.do(chromedp.Click(`.side.direct .row[data-phase="database"] > summary`),
		chromedp.WaitVisible(`.side.direct .row[data-phase="database"][open] .attributes`))
	tb.screenshot("traces")

	tb.colors("dark")
	tb.screenshot("traces-dark")
	tb.do(chromedp.Navigate(d.url))
	tb.loaded("")
	tb.screenshot("home-dark")
	tb.colors("light")
	tb.do(chromedp.EmulateViewport(400, 850))
	tb.screenshot("home-narrow")
	tb.fits()
	tb.do(chromedp.Navigate(d.url+"/traces"), chromedp.WaitVisible(".pair .waterfall"))
	tb.screenshot("traces-narrow")
	tb.fits()
	tb.noProblems()
}

// TestUsersAndFlag signs in and moves the flag.
func TestUsersAndFlag(t *testing.T) {
	d := startDemo(t, "")
	tb := openTab(t)
	tb.do(chromedp.Navigate(d.url))
	tb.loaded("")
	if lists := tb.texts("#w-watchlists h3"); len(lists) != 1 || !strings.Contains(lists[0], "Editors' picks") {
		t.Errorf("anonymous sees the watchlists %q, want the public one", lists)
	}
	eval[any](tb, `(() => { const u = document.querySelector("#user"); u.value = "alice"; u.dispatchEvent(new Event("change")); })()`)
	tb.do(chromedp.WaitReady(`#user option[selected]:nth-child(2)`))
	tb.loaded("")
	if lists := tb.texts("#w-watchlists h3"); len(lists) != 3 || !strings.Contains(lists[0], "Semis and software") {
		t.Errorf("alice sees the watchlists %q, want two of her own and the public one", lists)
	}
	// Each change loads the widget again, whose buttons then say what can be changed next.
	const add, remove = `#w-watchlists button[aria-label="Put NRVA on Dividend candidates"]`, `#w-watchlists button[aria-label="Take NRVA off Dividend candidates"]`
	tb.do(chromedp.Click(add), chromedp.WaitVisible(remove), chromedp.WaitNotPresent(add))
	if problems := tb.texts("#w-watchlists .problem"); len(problems) > 0 {
		t.Errorf("adding to a watchlist: %q", problems)
	}
	tb.do(chromedp.Click(remove), chromedp.WaitVisible(add), chromedp.WaitNotPresent(remove))
	eval[any](tb, `document.querySelector("#percent").value = 0`)
	tb.do(chromedp.Click(`#flag button`), chromedp.WaitReady(`body[data-flag="percent:0"]`))
	tb.loaded("")
	if want := slices.Repeat([]string{"rest"}, 9); !slices.Equal(tb.paths(), want) {
		t.Errorf("paths by the flag at 0 %%: %v", tb.paths())
	}
	tb.screenshot("home-alice")
	tb.noProblems()
}

// loaded waits until all widgets are filled and returns what they show.
func (tb *tab) loaded(path string) []string {
	tb.t.Helper()
	tb.do(chromedp.WaitReady(fmt.Sprintf(`#widgets[data-state="done"][data-path=%q]`, path)))
	states := tb.attributes(".widget", "data-state")
	if want := slices.Repeat([]string{"done"}, 9); !slices.Equal(states, want) {
		tb.screenshot("failed")
		tb.t.Fatalf("the nine widgets are %v: %q", states, tb.texts(".widget .content"))
	}
	if path != "" {
		if want := slices.Repeat([]string{path}, 9); !slices.Equal(tb.paths(), want) {
			tb.t.Fatalf("the widgets took the paths %v, want %s", tb.paths(), path)
		}
	}
	texts := tb.texts(".widget .content")
	for i, text := range texts {
		if id := tb.attributes(".widget", "data-widget")[i]; strings.TrimSpace(text) == "" {
			tb.t.Errorf("the widget %s is empty", id)
		}
	}
	return texts
}

// paths returns the path that each widget's answer took.
func (tb *tab) paths() []string { return tb.attributes(".widget", "data-path") }

// hasPhases checks that a side of the trace page has a drawing with the given phases in it.
func (tb *tab) hasPhases(side string, want ...string) {
	tb.t.Helper()
	got := tb.attributes(fmt.Sprintf(`[data-side=%q] .waterfall [data-phase]`, side), "data-phase")
	for _, phase := range want {
		if !slices.Contains(got, phase) {
			tb.t.Errorf("the drawing of %s has the phases %v, and no %s", side, got, phase)
		}
	}
	widths := eval[[]float64](tb, `[...document.querySelectorAll('[data-side=%q] .waterfall [data-phase] > summary rect')].map((r) => r.getBoundingClientRect().width)`, side)
	if len(widths) == 0 || len(widths) != len(got) || slices.Min(widths) <= 0 {
		tb.t.Errorf("the drawing of %s has bars of the widths %v for %d phases", side, widths, len(got))
	}
}

// fits checks that the page needs no scrolling sideways.
func (tb *tab) fits() {
	tb.t.Helper()
	if over := eval[float64](tb, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
		tb.t.Errorf("the page is %g pixels wider than the window", over)
	}
}

// colors makes the visitor prefer a colour scheme.
func (tb *tab) colors(scheme string) {
	tb.t.Helper()
	_, err := chromedp.Call(tb.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		tb.t.Fatalf("browser: %v", err)
	}
}
