package decode

import (
	"encoding/hex"
	"reflect"
	"strconv"
)

func readBool(d *decoder, v reflect.Value, k kind) error {
	if k != boolean {
		return d.mismatch(v.Type(), k, "only boolean is read into a bool")
	}
	b, err := d.boolean()
	v.SetBool(b)
	return err
}

// integerText gives the digits of an integer: a number without fraction and exponent, or a quoted one, the form in
// which Postgres sends oid.
func (d *decoder) integerText(v reflect.Value, k kind) (string, error) {
	switch k {
	case number:
		sp, integer, err := d.number()
		if err != nil {
			return "", err
		}
		if !integer {
			return "", d.mismatch(v.Type(), k, "it is not written as an integer: use float64, string or json.Number")
		}
		return d.src[sp.start:sp.end], nil
	case text:
		sp, err := d.text()
		if err != nil {
			return "", err
		}
		digits := d.src[sp.start:sp.end]
		if !isInteger(digits) {
			return "", d.mismatch(v.Type(), k, "its text is not an integer: use string")
		}
		return digits, nil
	}
	return "", d.mismatch(v.Type(), k, "only integers are read into an integer")
}

func isInteger(s string) bool {
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

func readInt(d *decoder, v reflect.Value, k kind) error {
	digits, err := d.integerText(v, k)
	if err != nil {
		return err
	}
	i, err := strconv.ParseInt(digits, 10, v.Type().Bits())
	if err != nil {
		return d.mismatch(v.Type(), k, "the integer is out of range: use a wider type, or string")
	}
	v.SetInt(i)
	return nil
}

func readUint(d *decoder, v reflect.Value, k kind) error {
	digits, err := d.integerText(v, k)
	if err != nil {
		return err
	}
	if digits == "-0" {
		digits = "0"
	}
	i, err := strconv.ParseUint(digits, 10, v.Type().Bits())
	if err != nil {
		return d.mismatch(v.Type(), k, "the integer is negative or out of range: use a signed or a wider type, or string")
	}
	v.SetUint(i)
	return nil
}

func readFloat(d *decoder, v reflect.Value, k kind) error {
	var digits string
	switch k {
	case number:
		sp, _, err := d.number()
		if err != nil {
			return err
		}
		digits = d.src[sp.start:sp.end]
	case text:
		sp, err := d.text()
		if err != nil {
			return err
		}
		switch digits = d.src[sp.start:sp.end]; digits {
		case "NaN", "Infinity", "-Infinity":
		default:
			return d.mismatch(v.Type(), k, "its text is none of NaN, Infinity and -Infinity: use string")
		}
	default:
		return d.mismatch(v.Type(), k, "only numbers are read into a float")
	}
	f, err := strconv.ParseFloat(digits, v.Type().Bits())
	if err != nil {
		return d.mismatch(v.Type(), k, "the number is out of range: use string or json.Number")
	}
	v.SetFloat(f)
	return nil
}

func readString(d *decoder, v reflect.Value, k kind) error {
	s, err := d.stringOf(v.Type(), k)
	v.SetString(s)
	return err
}

// stringOf reads text, and also a number, digit by digit, so that a numeric keeps every one of them.
func (d *decoder) stringOf(t reflect.Type, k kind) (string, error) {
	switch k {
	case text:
		sp, err := d.text()
		if err != nil {
			return "", err
		}
		return d.string(t, sp)
	case number:
		sp, _, err := d.number()
		if err != nil {
			return "", err
		}
		return d.src[sp.start:sp.end], nil
	}
	return "", d.mismatch(t, k, "only text and numbers are read into a string: use json.RawMessage, or a type of the column's kind")
}

func readNumber(d *decoder, v reflect.Value, k kind) error {
	if k != number {
		return d.mismatch(v.Type(), k, "only numbers are read into a json.Number, which cannot hold NaN or Infinity: use string")
	}
	sp, _, err := d.number()
	if err != nil {
		return err
	}
	v.SetString(d.src[sp.start:sp.end])
	return nil
}

func readRaw(d *decoder, v reflect.Value, _ kind) error {
	raw, err := d.raw()
	if err != nil {
		return err
	}
	v.SetBytes(append(d.alloc(len(raw)), raw...))
	return nil
}

// nullRaw gives null as it stands: SQL NULL and a json null look alike. A *json.RawMessage is nil instead.
func nullRaw(d *decoder, v reflect.Value) error {
	v.SetBytes(append(d.alloc(4), "null"...))
	return nil
}

// hexOf gives the hexadecimal digits of a bytea.
func (d *decoder) hexOf(t reflect.Type, k kind) (string, error) {
	if k != text {
		return "", d.mismatch(t, k, "only bytea is read into bytes: use json.RawMessage for a json value")
	}
	sp, err := d.text()
	if err != nil {
		return "", err
	}
	s, err := d.string(t, sp)
	if err != nil {
		return "", err
	}
	if len(s) < 2 || s[:2] != `\x` || len(s)%2 != 0 {
		return "", d.mismatch(t, k, `its text is not bytea in hex form ("\x…", set bytea_output = hex): use string for text`)
	}
	return s[2:], nil
}

func (d *decoder) unhex(t reflect.Type, dst []byte, digits string) error {
	d.scratch = append(d.scratch[:0], digits...)
	if _, err := hex.Decode(dst, d.scratch); err != nil {
		return d.mismatch(t, text, "its text is not hexadecimal")
	}
	return nil
}

func readBytes(d *decoder, v reflect.Value, k kind) error {
	digits, err := d.hexOf(v.Type(), k)
	if err != nil {
		return err
	}
	n := len(digits) / 2
	b := d.alloc(n)[:n]
	if err := d.unhex(v.Type(), b, digits); err != nil {
		return err
	}
	v.SetBytes(b)
	return nil
}
