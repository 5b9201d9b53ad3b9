package site

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/example-app/internal/stock"
	"github.com/twinpath/twinpath/example-app/internal/waterfall"
)

//go:embed templates static
var files embed.FS

func parsePages() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{
		"ms":         func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) },
		"bar":        bar,
		"phaseClass": phaseClass,
		"spanClass":  spanClass,
	}).ParseFS(files, "templates/*.html")
}

// bar draws a stretch of time as a rectangle. Its place is in attributes, not in a style, which the
// page's content security policy would refuse.
func bar(offset, duration, scale float64, class string) template.HTML {
	if scale <= 0 {
		scale = 1
	}
	const least = 0.35 // percent, for what would be too short to be seen
	x := min(max(0, offset/scale*100), 100-least)
	width := min(max(least, duration/scale*100), 100-x)
	return template.HTML(fmt.Sprintf( //nolint:gosec // numbers, and a class of phaseClass
		`<svg class="bar" aria-hidden="true"><rect class="ph %s" x="%.3f%%" y="15%%" width="%.3f%%" height="70%%" rx="2"/></svg>`,
		template.HTMLEscapeString(class), x, width))
}

// phaseClass is the CSS class that colours a phase.
func phaseClass(phase string) string {
	return "ph-" + strings.NewReplacer("+", "-", ".", "-").Replace(phase)
}

func spanClass(s waterfall.Span) string {
	if s.Phase != "" {
		return phaseClass(s.Phase)
	}
	return "ph-span"
}

// render answers a page. It is rendered before anything is sent, so that an error is still an error.
func (s *Site) render(c echo.Context, name string, data any) error {
	var b bytes.Buffer
	if err := s.pages.ExecuteTemplate(&b, name, data); err != nil {
		return fmt.Errorf("site: render %s: %w", name, err)
	}
	return c.HTMLBlob(http.StatusOK, b.Bytes())
}

// home is the page with the nine widgets.
func (s *Site) home(c echo.Context) error {
	ticker := s.tickerToShow(c)
	setting := s.cfg.Flag.Setting()
	percent := setting.Percent
	if setting.Fixed == "direct" {
		percent = 100
	}
	return s.render(c, "home", map[string]any{
		"Ticker": ticker, "Companies": s.cfg.Companies, "Widgets": widgets(ticker), "AsOf": stock.AsOf,
		"Users": demoUsers(), "User": s.userOf(c),
		"Flag": setting.String(), "FlagName": FlagName, "FlagWords": setting.Describe(), "Percent": percent,
		"Notices": s.cfg.Notices, "Parts": s.cfg.Parts, "Instruments": s.instrumentsFor(c),
	})
}

// homeJSON lists the widgets and their endpoints.
func (s *Site) homeJSON(c echo.Context) error {
	ticker := s.tickerToShow(c)
	return c.JSON(http.StatusOK, struct {
		Ticker  string   `json:"ticker"`
		AsOf    string   `json:"as_of"`
		Flag    string   `json:"flag"`
		Widgets []Widget `json:"widgets"`
	}{ticker, stock.AsOf, s.cfg.Flag.Setting().String(), widgets(ticker)})
}

// tickerToShow is the company that was asked for, or the default one.
func (s *Site) tickerToShow(c echo.Context) string {
	asked := strings.ToUpper(c.QueryParam("ticker"))
	if slices.ContainsFunc(s.cfg.Companies, func(n CompanyName) bool { return n.Ticker == asked }) {
		return asked
	}
	return defaultTicker
}

// setFlag moves the flag.
func (s *Site) setFlag(c echo.Context) error {
	share, err := strconv.ParseFloat(c.FormValue("percent"), 64)
	if err != nil || math.IsNaN(share) || share < 0 || share > 100 {
		return &Problem{Status: http.StatusBadRequest, Code: "bad_parameter", Message: "percent must be a number from 0 to 100"}
	}
	s.cfg.Flag.Set(Setting{Percent: share})
	return c.Redirect(http.StatusSeeOther, "/")
}
