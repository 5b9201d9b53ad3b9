package browser_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const pageTimeout = 2 * time.Minute

// chromium returns the browser's program.
func chromium(t *testing.T) string {
	t.Helper()
	if p := os.Getenv("CHROMIUM"); p != "" {
		return p
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	t.Fatal("no Chromium found: install it (Debian: apt-get install chromium), or name its program in CHROMIUM")
	return ""
}

// tab is a page of a new browser with a profile of its own.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	problems []string
}

func openTab(t *testing.T) *tab {
	t.Helper()
	options := append([]chromedp.ExecAllocatorOption{},
		chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1440, 1000),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true), // containers have little of it
	)
	allocator, closeBrowser := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, closeTab := chromedp.NewContext(allocator)
	tb := &tab{t: t, ctx: ctx}
	t.Cleanup(func() {
		closeTab()
		closeBrowser()
	})
	if err := chromedp.Listen(ctx, tb.listen); err != nil { // starts the browser, which must not end with a page's time limit
		t.Fatalf("start the browser: %v", err)
	}
	if _, err := chromedp.Call(ctx, cdplog.Enable, cdp.Empty{}); err != nil {
		t.Fatalf("browser: %v", err)
	}
	limited, cancel := context.WithTimeout(ctx, pageTimeout)
	t.Cleanup(cancel)
	tb.ctx = limited
	return tb
}

// listen collects what the browser complains about: uncaught errors, and what the page's content
// security policy refused.
func (tb *tab) listen(event any) {
	var problem string
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = "uncaught: " + e.ExceptionDetails.Text
	case *cdplog.EventEntryAdded:
		if e.Entry.Level != cdplog.EntryLevelError && e.Entry.Level != cdplog.EntryLevelWarning {
			return
		}
		problem = fmt.Sprintf("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL)
	default:
		return
	}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.problems = append(tb.problems, problem)
}

// noProblems fails the test for everything that the browser complained about.
func (tb *tab) noProblems() {
	tb.t.Helper()
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, p := range tb.problems {
		tb.t.Errorf("the browser complains: %s", p)
	}
}

func (tb *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	if err := chromedp.Do(tb.ctx, steps...); err != nil {
		tb.t.Fatalf("browser: %v", err)
	}
}

// eval evaluates an expression of the page.
func eval[T any](tb *tab, expression string, args ...any) T {
	tb.t.Helper()
	v, err := chromedp.Run(tb.ctx, chromedp.Evaluate[T](fmt.Sprintf(expression, args...)))
	if err != nil {
		tb.t.Fatalf("browser: evaluate: %v", err)
	}
	return v
}

// press clicks an element as scripts do: it may move while a page fills, and a mouse would miss it.
func (tb *tab) press(selector string) {
	tb.t.Helper()
	tb.do(chromedp.WaitVisible(selector))
	eval[any](tb, `(() => { document.querySelector(%q).dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true })); })()`, selector)
}

// until waits for an expression of the page to be true.
func (tb *tab) until(expression string, args ...any) {
	tb.t.Helper()
	for !eval[bool](tb, expression, args...) {
		time.Sleep(20 * time.Millisecond) // eval fails at the page's time limit
	}
}

// texts returns the texts of all elements that match, in the page's order.
func (tb *tab) texts(selector string) []string {
	tb.t.Helper()
	return eval[[]string](tb, `[...document.querySelectorAll(%q)].map((e) => e.innerText)`, selector)
}

// attributes returns an attribute of all elements that match, in the page's order.
func (tb *tab) attributes(selector, name string) []string {
	tb.t.Helper()
	return eval[[]string](tb, `[...document.querySelectorAll(%q)].map((e) => e.getAttribute(%q))`, selector, name)
}

// screenshot keeps a picture of the whole page where ARTIFACTS says.
func (tb *tab) screenshot(name string) {
	tb.t.Helper()
	tb.keep(name, chromedp.FullScreenshot(100))
}

// picture is screenshot of one element.
func (tb *tab) picture(name, selector string) {
	tb.t.Helper()
	tb.keep(name, chromedp.Screenshot(selector))
}

func (tb *tab) keep(name string, take chromedp.Action[[]byte]) {
	tb.t.Helper()
	dir := os.Getenv("ARTIFACTS")
	if dir == "" {
		return
	}
	picture, err := chromedp.Run(tb.ctx, take)
	if err != nil {
		tb.t.Fatalf("browser: screenshot: %v", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		tb.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
		tb.t.Fatal(err)
	}
}
