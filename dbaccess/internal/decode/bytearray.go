package decode

import (
	"reflect"
)

// readByteArray fills [16]byte from a uuid and a byte array of any length from a bytea of that length.
func readByteArray(d *decoder, v reflect.Value, k kind) error {
	t := v.Type()
	if k != text {
		return d.mismatch(t, k, "a byte array is read from uuid (16 bytes) or bytea")
	}
	if t.Len() == 16 && d.src[d.pos+1:min(d.pos+2, len(d.src))] != `\` {
		sp, err := d.text()
		if err != nil {
			return err
		}
		return d.uuid(v, d.src[sp.start:sp.end])
	}
	digits, err := d.hexOf(t, k)
	if err != nil {
		return err
	}
	if len(digits) != 2*t.Len() {
		return d.mismatch(t, k, "the bytea has another length than the array: use []byte")
	}
	return d.unhex(t, v.Bytes(), digits)
}

// uuid reads the form in which Postgres writes every uuid: 8-4-4-4-12 hexadecimal digits.
func (d *decoder) uuid(v reflect.Value, s string) error {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return d.mismatch(v.Type(), text, "its text is not a uuid")
	}
	return d.unhex(v.Type(), v.Bytes(), s[:8]+s[9:13]+s[14:18]+s[19:23]+s[24:])
}
