package measure

import (
	"fmt"
	"io"

	"github.com/go-analyze/charts"
)

const (
	chartWidth  = 1000
	chartHeight = 420
	maxPoints   = 1000 // rounds that are drawn; of more, every second, third, … is
)

// WriteSVG draws each round's server times, one color for each mode and temperature, and one chart for
// each result, below each other.
func WriteSVG(w io.Writer, results ...*Result) error {
	p := charts.NewPainter(charts.PainterOptions{
		OutputFormat: charts.ChartOutputSVG, Width: chartWidth, Height: chartHeight * len(results), Theme: charts.GetTheme(charts.ThemeLight),
	})
	p.FilledRect(0, 0, chartWidth, chartHeight*len(results), charts.ColorWhite, charts.ColorWhite, 0)
	for i, r := range results {
		part := p.Child(charts.PainterBoxOption(charts.Box{Top: i * chartHeight, Right: chartWidth, Bottom: (i + 1) * chartHeight, IsSet: true}))
		if err := part.ScatterChart(r.chart()); err != nil {
			return fmt.Errorf("chart: %w", err)
		}
	}
	b, err := p.Bytes()
	if err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	_, err = w.Write(b)
	return err
}

// standIn is the mode that a stand-in answered, if there is one.
func (r *Result) standIn() string {
	for i := range r.Samples {
		if r.Samples[i].StandIn {
			return r.Samples[i].Mode
		}
	}
	return ""
}

// chart lays out one result.
func (r *Result) chart() charts.ScatterChartOption {
	rounds := 0
	for i := range r.Samples {
		if s := &r.Samples[i]; !s.WarmUp {
			rounds = max(rounds, s.Round+1)
		}
	}
	step := max((rounds+maxPoints-1)/maxPoints, 1)
	var names []string
	var values [][]float64
	for _, t := range r.Config.Targets {
		for _, cold := range []bool{false, true} {
			list, any := make([]float64, (rounds+step-1)/step), false
			for i := range list {
				list[i] = charts.GetNullValue()
			}
			for i := range r.Samples {
				s := &r.Samples[i]
				if s.Mode == t.Name && s.Cold == cold && !s.WarmUp && s.OK() && s.Round%step == 0 {
					list[s.Round/step], any = s.Server, true
				}
			}
			if any {
				temperature := " warm"
				if cold {
					temperature = " cold"
				}
				names, values = append(names, t.Name+temperature), append(values, list)
			}
		}
	}
	opt := charts.NewScatterChartOptionWithData(values)
	opt.Padding = charts.NewBoxEqual(20)
	opt.Title.Text = fmt.Sprintf("%s: server time of each round, ms", r.Config.Shape)
	if name := r.standIn(); name != "" {
		opt.Title.Subtext = name + " was answered by a stand-in for PostgREST"
	}
	opt.Legend.SeriesNames = names
	opt.Legend.Offset = charts.OffsetStr{Left: charts.PositionRight}
	opt.Symbol.Size = 2.5
	opt.XAxis.Labels = make([]string, (rounds+step-1)/step)
	for i := range opt.XAxis.Labels {
		opt.XAxis.Labels[i] = fmt.Sprint(i*step + 1)
	}
	opt.XAxis.Title = "round"
	for i := range opt.YAxis {
		opt.YAxis[i].Min = charts.Ptr(0.0)
	}
	return opt
}
