package waterfall

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Trace is one finished transaction: one request's work.
type Trace struct {
	TraceID    string      `json:"trace_id"`
	Name       string      `json:"name"` // "GET /api/stocks/:ticker"
	Op         string      `json:"op"`
	Status     string      `json:"status"`
	Path       string      `json:"path"` // access path, "" when the request made no database call
	Start      time.Time   `json:"start"`
	DurationMS float64     `json:"duration_ms"`
	Attributes []Attribute `json:"attributes"`
	Spans      []Span      `json:"spans"` // in the order in which they are drawn: a parent before its children
}

// Span is a stretch of a trace's time.
type Span struct {
	ID         string      `json:"id"`
	ParentID   string      `json:"parent_id"`
	Op         string      `json:"op"`
	Name       string      `json:"name"`
	Status     string      `json:"status"`
	Phase      string      `json:"phase"` // the name of the phase, "" for a span that is none
	Depth      int         `json:"depth"` // 1 for a child of the transaction
	OffsetMS   float64     `json:"offset_ms"`
	DurationMS float64     `json:"duration_ms"`
	Attributes []Attribute `json:"attributes"`
}

// Attribute is a name and a value, as text.
type Attribute struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// The attribute that names the access path.
const attributePath = "db.access_path"

// payload is the part of a transaction event's JSON that is used.
type payload struct {
	Transaction string  `json:"transaction"`
	Start       stamp   `json:"start_timestamp"`
	End         stamp   `json:"timestamp"`
	Spans       []entry `json:"spans"`
	Contexts    struct {
		Trace entry `json:"trace"`
	} `json:"contexts"`
}

type entry struct {
	TraceID     string         `json:"trace_id"`
	SpanID      string         `json:"span_id"`
	ParentID    string         `json:"parent_span_id"`
	Op          string         `json:"op"`
	Description string         `json:"description"`
	Status      string         `json:"status"`
	Start       stamp          `json:"start_timestamp"`
	End         stamp          `json:"timestamp"`
	Data        map[string]any `json:"data"`
}

// stamp is a time in either of the two forms that Sentry accepts.
type stamp struct{ time.Time }

func (s *stamp) UnmarshalJSON(b []byte) error {
	if err := s.read(b); err != nil {
		return err
	}
	if s.Time = s.UTC(); s.Year() < 0 || s.Year() > 9999 {
		return errors.New("a time that has no place in a calendar")
	}
	return nil
}

func (s *stamp) read(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &s.Time)
	}
	var seconds float64
	if err := json.Unmarshal(b, &seconds); err != nil {
		return err
	}
	s.Time = time.UnixMicro(int64(seconds * 1e6)).UTC()
	return nil
}

// Parse reads a transaction event as it is sent to Sentry.
func Parse(event []byte) (Trace, error) {
	var p payload
	dec := json.NewDecoder(strings.NewReader(string(event)))
	dec.UseNumber()
	if err := dec.Decode(&p); err != nil {
		return Trace{}, fmt.Errorf("waterfall: read the transaction: %w", err)
	}
	root := p.Contexts.Trace
	t := Trace{
		TraceID: root.TraceID, Name: p.Transaction, Op: root.Op, Status: root.Status,
		Start: p.Start.UTC(), DurationMS: ms(p.End.Sub(p.Start.Time)),
		Attributes: attributes(root.Data),
	}
	t.Path = lookup(t.Attributes, attributePath)
	t.Spans = arrange(p, root.SpanID)
	if t.Path == "" {
		for _, s := range t.Spans {
			if t.Path = lookup(s.Attributes, attributePath); t.Path != "" {
				break
			}
		}
	}
	return t, nil
}

// arrange puts the spans in drawing order: depth first, each level by start. A span whose parent is
// missing hangs on the transaction.
func arrange(p payload, root string) []Span {
	known := map[string]bool{root: true}
	for _, e := range p.Spans {
		known[e.SpanID] = true
	}
	children := map[string][]entry{}
	for _, e := range p.Spans {
		if !known[e.ParentID] || e.ParentID == e.SpanID {
			e.ParentID = root
		}
		children[e.ParentID] = append(children[e.ParentID], e)
	}
	spans := make([]Span, 0, len(p.Spans))
	var visit func(id string, depth int)
	visit = func(id string, depth int) {
		level := children[id]
		delete(children, id) // so that a circle of parents ends
		slices.SortStableFunc(level, func(a, b entry) int { return a.Start.Compare(b.Start.Time) })
		for _, e := range level {
			s := Span{
				ID: e.SpanID, ParentID: e.ParentID, Op: e.Op, Name: e.Description, Status: e.Status, Depth: depth,
				OffsetMS: ms(e.Start.Sub(p.Start.Time)), DurationMS: ms(e.End.Sub(e.Start.Time)),
				Attributes: attributes(e.Data),
			}
			s.Phase = phaseOf(s)
			spans = append(spans, s)
			visit(e.SpanID, depth+1)
		}
	}
	visit(root, 1)
	return spans
}

func attributes(data map[string]any) []Attribute {
	list := make([]Attribute, 0, len(data))
	for name, v := range data {
		list = append(list, Attribute{name, fmt.Sprint(v)})
	}
	slices.SortFunc(list, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func lookup(list []Attribute, name string) string {
	for _, a := range list {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
