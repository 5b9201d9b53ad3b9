package site

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/example-app/internal/waterfall"
)

const recentTraces = 25

// firstRoute is the route that the trace page opens with, when it has been requested.
const firstRoute = "GET /api/stocks/:ticker/insider-transactions"

// side is one drawing.
type side struct {
	Path  string
	Label string
	Trace *waterfall.Trace
	Scale float64 // milliseconds that fill the width
}

type routeRow struct {
	Name, Short  string
	REST, Direct string
	Selected     bool
}

type pairView struct {
	Name     string
	OwnScale bool
	Sides    []side
}

// traces is the page that draws the last requests.
func (s *Site) traces(c echo.Context) error {
	traces := s.cfg.Traces.Traces()
	pairs := waterfall.Pairs(traces)
	chosen := choose(pairs, c.QueryParam("route"))
	var rows []routeRow
	for i, p := range pairs {
		rows = append(rows, routeRow{
			Name: p.Name, Short: strings.TrimPrefix(p.Name, "GET "),
			REST: total(p.REST), Direct: total(p.Direct), Selected: i == chosen,
		})
	}
	var selected *pairView
	if chosen >= 0 {
		selected = viewOf(pairs[chosen], c.QueryParam("scale") == "own")
	}
	var recent []side
	for i := range traces[:min(len(traces), recentTraces)] {
		t := &traces[i]
		recent = append(recent, side{Path: t.Path, Label: label(t.Path), Trace: t, Scale: t.DurationMS})
	}
	return s.render(c, "traces", map[string]any{
		"Where": s.cfg.TracesGo, "Legend": legend(traces), "Routes": rows, "Selected": selected, "Recent": recent,
	})
}

// choose returns the index of the pair to show, -1 when there is none.
func choose(pairs []waterfall.Pair, asked string) int {
	for _, name := range []string{asked, firstRoute} {
		if i := slices.IndexFunc(pairs, func(p waterfall.Pair) bool { return p.Name == name }); i >= 0 {
			return i
		}
	}
	return min(0, len(pairs)-1)
}

// viewOf draws both paths of a route, on one scale unless each is to have its own.
func viewOf(p waterfall.Pair, ownScale bool) *pairView {
	v := &pairView{Name: p.Name, OwnScale: ownScale}
	longest := 0.0
	for _, s := range []side{
		{Path: string(dbaccess.REST), Trace: p.REST},
		{Path: string(dbaccess.Direct), Trace: p.Direct},
	} {
		if s.Label = label(s.Path); s.Trace != nil {
			s.Scale = s.Trace.DurationMS
			longest = max(longest, s.Scale)
		}
		v.Sides = append(v.Sides, s)
	}
	if !ownScale {
		for i := range v.Sides {
			v.Sides[i].Scale = longest
		}
	}
	return v
}

func label(path string) string {
	switch dbaccess.Path(path) {
	case dbaccess.REST:
		return "REST"
	case dbaccess.Direct:
		return "direct"
	}
	return "no call"
}

func total(t *waterfall.Trace) string {
	if t == nil {
		return "–"
	}
	return millisText(t.DurationMS)
}

// legend returns the phases that the traces have.
func legend(traces []waterfall.Trace) []string {
	seen := map[string]bool{}
	for _, t := range traces {
		for _, sp := range t.Spans {
			seen[sp.Phase] = true
		}
	}
	return slices.DeleteFunc(waterfall.Phases(), func(p string) bool { return !seen[p] })
}

// tracesJSON answers what the trace page draws.
func (s *Site) tracesJSON(c echo.Context) error {
	return c.JSON(http.StatusOK, struct {
		Traces []waterfall.Trace `json:"traces"`
	}{s.cfg.Traces.Traces()})
}
