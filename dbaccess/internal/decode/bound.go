package decode

import "encoding/json"

// A Bound is how many elements the array in a member of every row may have before it is taken to be cut short.
type Bound struct {
	Name   string // of the member
	Max    int    // 0 for a member that only its nested ones are looked at in
	Nested []Bound
}

// Reached returns the name of a bound that an array in body has reached, and "" when none has. body is a row or an
// array of rows.
func Reached(body []byte, bounds []Bound) (name string, err error) {
	d, err := newDecoder(nil, body, Options{})
	if err != nil {
		return "", err
	}
	w := walker{scanner: &d.scanner}
	err = w.rows(bounds, 0, "")
	return w.reached, err
}

type walker struct {
	*scanner
	reached string
}

// rows looks at one value: a row, or an array of rows of which there may be less than most, if that isn't 0.
func (w *walker) rows(bounds []Bound, most int, name string) error {
	switch w.kind() {
	case object:
		return w.items('}', func() error { return w.member(bounds) })
	case array:
		n := 0
		err := w.items(']', func() error {
			n++
			return w.rows(bounds, 0, "")
		})
		if most > 0 && n >= most {
			w.reached = name
		}
		return err
	}
	return w.skip()
}

func (w *walker) member(bounds []Bound) error {
	sp, err := w.name()
	if err != nil {
		return err
	}
	if err := w.colon(); err != nil {
		return err
	}
	name := w.src[sp.start:sp.end]
	if sp.escaped {
		if err := json.Unmarshal([]byte(w.src[sp.start-1:sp.end+1]), &name); err != nil {
			return err
		}
	}
	for i := range bounds {
		if bounds[i].Name == name {
			w.space()
			return w.rows(bounds[i].Nested, bounds[i].Max, name)
		}
	}
	return w.skip()
}
