package decode

import (
	"math"
	"reflect"
	"strings"
	"time"
)

func readDuration(d *decoder, v reflect.Value, k kind) error {
	if k != text {
		return d.mismatch(v.Type(), k, "only interval and time are read into a time.Duration: use an integer type for a number")
	}
	sp, err := d.text()
	if err != nil {
		return err
	}
	s := d.src[sp.start:sp.end]
	length, ok := parseInterval(s)
	switch {
	case ok:
		v.SetInt(int64(length))
		return nil
	case isInfinity(s):
		return d.infinity(v, "Go has no infinite duration: use string, or filter such rows out")
	case strings.Contains(s, "year") || strings.Contains(s, "mon") || strings.Contains(s, "day"):
		return d.mismatch(v.Type(), k, "years, months and days have no fixed length: use string, or select extract(epoch from …)")
	}
	return d.mismatch(v.Type(), k, "its text is not hours:minutes:seconds within 292 years (set intervalstyle = postgres): use string")
}

// parseInterval reads an interval of hours, minutes and seconds as Postgres writes it: 04:05:06.5, -00:00:01, 100000:00:00.
func parseInterval(s string) (time.Duration, bool) {
	p := digitParser{s: s, ok: true}
	negative := p.accept('-')
	if !negative {
		p.accept('+')
	}
	hours := p.digits(2, 7)
	p.byte(':')
	minutes := p.digits(2, 2)
	p.byte(':')
	seconds := p.digits(2, 2)
	nanos := p.fraction()
	if !p.ok || p.s != "" || minutes > 59 || seconds > 59 || hours > int(math.MaxInt64/time.Hour) {
		return 0, false
	}
	length := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute + time.Duration(seconds)*time.Second + time.Duration(nanos)
	if length < 0 { // the last hour is not a whole one
		return 0, false
	}
	if negative {
		length = -length
	}
	return length, true
}
