package typeparity_test

import (
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// decimal has the methods of shopspring's Decimal: JSON in quotes, and all the
// others.
type decimal struct{ digits string }

func (d decimal) MarshalJSON() ([]byte, error) { return json.Marshal(d.digits) }
func (d decimal) MarshalText() ([]byte, error) { return []byte(d.digits), nil }
func (d decimal) Value() (driver.Value, error) { return d.digits, nil }
func (d *decimal) UnmarshalJSON(b []byte) error {
	d.digits = strings.Trim(string(b), `"`)
	return nil
}
func (d *decimal) UnmarshalText(b []byte) error { d.digits = string(b); return nil }
func (d *decimal) Scan(src any) error           { d.digits = fmt.Sprint(src); return nil }

// bareDecimal has what apd's and others have: text and database/sql.
type bareDecimal struct{ digits string }

func (d *bareDecimal) MarshalText() ([]byte, error) { return []byte(d.digits), nil }
func (d *bareDecimal) UnmarshalText(b []byte) error { d.digits = string(b); return nil }
func (d bareDecimal) Value() (driver.Value, error)  { return d.digits, nil }

// uuid has the methods of google's and gofrs' UUID.
type uuid [16]byte

func (u uuid) String() string {
	h := hex.EncodeToString(u[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
func (u uuid) MarshalText() ([]byte, error)   { return []byte(u.String()), nil }
func (u uuid) MarshalBinary() ([]byte, error) { return u[:], nil }
func (u uuid) Value() (driver.Value, error)   { return u.String(), nil }
func (u *uuid) UnmarshalText(b []byte) error {
	_, err := hex.Decode(u[:], []byte(strings.ReplaceAll(string(b), "-", "")))
	return err
}
func (u *uuid) Scan(src any) error {
	s, ok := src.(string)
	if !ok {
		return fmt.Errorf("scan %T", src)
	}
	return u.UnmarshalText([]byte(s))
}

// nullUUID has the methods of google's NullUUID, whose text of a missing value is
// "null".
type nullUUID struct {
	UUID  uuid
	Valid bool
}

func (n nullUUID) Value() (driver.Value, error) {
	if !n.Valid {
		return nil, nil
	}
	return n.UUID.Value()
}
func (n nullUUID) MarshalText() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	return n.UUID.MarshalText()
}
func (n nullUUID) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	return json.Marshal(n.UUID)
}
func (n *nullUUID) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = nullUUID{}
		return nil
	}
	n.Valid = true
	return json.Unmarshal(b, &n.UUID)
}

// nullText has the methods of guregu's null.String, whose text of a missing value
// is empty.
type nullText struct {
	String string
	Valid  bool
}

func (n nullText) Value() (driver.Value, error) {
	if !n.Valid {
		return nil, nil
	}
	return n.String, nil
}
func (n nullText) MarshalText() ([]byte, error) { return []byte(n.String), nil }
func (n *nullText) UnmarshalText(b []byte) error {
	n.String, n.Valid = string(b), true
	return nil
}

// civilDate has the methods of civil.Date: text alone.
type civilDate struct{ y, m, d int }

func (c civilDate) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%04d-%02d-%02d", c.y, c.m, c.d), nil
}
func (c *civilDate) UnmarshalText(b []byte) error {
	_, err := fmt.Sscanf(string(b), "%d-%d-%d", &c.y, &c.m, &c.d)
	return err
}

// driverTime takes what drivers give for a timestamp, and nothing else.
type driverTime struct{ at time.Time }

func (d driverTime) Value() (driver.Value, error) { return d.at, nil }
func (d *driverTime) Scan(src any) error {
	at, ok := src.(time.Time)
	if !ok {
		return fmt.Errorf("scan %T", src)
	}
	d.at = at
	return nil
}

// document is what people put into jsonb.
type document struct {
	Name   string            `json:"name"`
	Big    int64             `json:"big"`
	Price  json.Number       `json:"price,omitempty"`
	At     time.Time         `json:"at"`
	Took   time.Duration     `json:"took"`
	Bytes  []byte            `json:"bytes,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
	Inner  *document         `json:"inner,omitempty"`
}

// stored is a document that keeps itself as JSON in the way of database/sql: its
// value is bytes.
type stored struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
}

func (s stored) Value() (driver.Value, error) { return json.Marshal(s) }
func (s *stored) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok {
		return errors.New("not bytes")
	}
	return json.Unmarshal(b, s)
}

// storedText is stored whose value is a string.
type storedText struct {
	Name string `json:"name"`
}

func (s storedText) Value() (driver.Value, error) {
	b, err := json.Marshal(s)
	return string(b), err
}
func (s *storedText) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok {
		return errors.New("not bytes")
	}
	return json.Unmarshal(b, s)
}

// rawDocument is a kind of json.RawMessage, which does not inherit its methods, with
// those of database/sql: GORM's manual has one.
type rawDocument json.RawMessage

func (r rawDocument) Value() (driver.Value, error) {
	if len(r) == 0 {
		return nil, nil
	}
	return []byte(r), nil
}
func (r *rawDocument) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok {
		return errors.New("not bytes")
	}
	*r = append(rawDocument(nil), b...)
	return nil
}

// gormJSON has the methods of GORM's datatypes.JSON: JSON, and a string for a
// value.
type gormJSON json.RawMessage

func (g gormJSON) Value() (driver.Value, error) {
	if len(g) == 0 {
		return nil, nil
	}
	return string(g), nil
}
func (g gormJSON) MarshalJSON() ([]byte, error) { return json.RawMessage(g).MarshalJSON() }
func (g *gormJSON) UnmarshalJSON(b []byte) error {
	*g = append(gormJSON(nil), b...)
	return nil
}

// literal is a slice whose value is an array literal, as pq.StringArray's is.
type literal []string

func (l literal) Value() (driver.Value, error) {
	if l == nil {
		return nil, nil
	}
	return `{"` + strings.Join(l, `","`) + `"}`, nil
}

// textBytes is a type whose value is bytes that are text.
type textBytes struct{ s string }

func (t textBytes) Value() (driver.Value, error) { return []byte(t.s), nil }

// pointerText has its method on the pointer, which is not at hand in a map.
type pointerText struct{ s string }

func (p *pointerText) MarshalText() ([]byte, error) { return []byte("<" + p.s + ">"), nil }

type (
	ticker    string
	tradeKind string
	rawBytes  []byte
	switched  bool
	level     uint8
	plainID   [16]byte
)
