package decode

import (
	"reflect"
	"strings"
	"time"
)

func readTime(d *decoder, v reflect.Value, k kind) error {
	if k != text {
		return d.mismatch(v.Type(), k, "only date, timestamp and timestamptz are read into a time.Time")
	}
	sp, err := d.text()
	if err != nil {
		return err
	}
	s := d.src[sp.start:sp.end]
	t, ok := parseTime(s)
	if ok {
		*v.Addr().Interface().(*time.Time) = t
		return nil
	}
	if isInfinity(s) {
		return d.infinity(v, "Go has no infinite time: use string, or filter such rows out")
	}
	if len(s) > 2 && s[2] == ':' {
		return d.mismatch(v.Type(), k, "a time of day has no date: use string, or time.Duration since midnight for a time without zone")
	}
	return d.mismatch(v.Type(), k, "its text is not a date or timestamp in ISO form (set datestyle = ISO): use string")
}

func isInfinity(s string) bool { return s == "infinity" || s == "-infinity" }

func (d *decoder) infinity(v reflect.Value, why string) error {
	err := d.mismatch(v.Type(), text, why)
	err.reason = ErrInfinity
	return err
}

// parseTime reads a date, a timestamp or a timestamptz as Postgres writes them in ISO form, in JSON (with a T) and as
// text (with a blank), and gives it in UTC:
//
//	2006-01-02    2006-01-02T15:04:05.999999    2006-01-02T15:04:05+00:00    0044-03-15T00:00:00 BC
//
// Years have four digits or more; the zone may have minutes and seconds; what has no zone is taken for UTC. A year BC is
// counted as ISO 8601 does, 1 BC being 0.
func parseTime(s string) (time.Time, bool) {
	s, bc := strings.CutSuffix(s, " BC")
	p := digitParser{s: s, ok: true}
	year := p.digits(4, 7)
	p.byte('-')
	month := p.digits(2, 2)
	p.byte('-')
	day := p.digits(2, 2)
	var hour, minute, second, nano, offset int
	if p.ok && p.s != "" {
		if !p.accept('T') {
			p.byte(' ')
		}
		hour = p.digits(2, 2)
		p.byte(':')
		minute = p.digits(2, 2)
		p.byte(':')
		second = p.digits(2, 2)
		nano = p.fraction()
		offset = p.zone()
	}
	if !p.ok || p.s != "" || year < 1 || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	if bc {
		year = 1 - year
	}
	if day > daysIn(year, month) {
		return time.Time{}, false
	}
	return time.Date(year, time.Month(month), day, hour, minute, second-offset, nano, time.UTC), true
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// digitParser eats a text from the front. Once something is not as asked for, ok is false.
type digitParser struct {
	s  string
	ok bool
}

// digits reads as many digits as there are, at least least and at most most.
func (p *digitParser) digits(least, most int) int {
	n, i := 0, 0
	for i < len(p.s) && i < most && isDigit(p.s[i]) {
		n = n*10 + int(p.s[i]-'0')
		i++
	}
	if i < least {
		p.ok = false
	}
	p.s = p.s[i:]
	return n
}

func (p *digitParser) accept(c byte) bool {
	if p.s == "" || p.s[0] != c {
		return false
	}
	p.s = p.s[1:]
	return true
}

func (p *digitParser) byte(c byte) {
	if !p.accept(c) {
		p.ok = false
	}
}

// fraction reads the decimals of a second, if there are any, as nanoseconds.
func (p *digitParser) fraction() int {
	if !p.accept('.') {
		return 0
	}
	before := len(p.s)
	n := p.digits(1, 9)
	for range 9 - (before - len(p.s)) {
		n *= 10
	}
	return n
}

// zone reads Z or an offset, if there is one, as seconds east of UTC.
func (p *digitParser) zone() int {
	sign := 1
	switch {
	case p.s == "" || p.accept('Z'):
		return 0
	case p.accept('+'):
	case p.accept('-'):
		sign = -1
	default:
		p.ok = false
		return 0
	}
	var part [3]int
	part[0] = p.digits(2, 2)
	for i := 1; i < len(part) && p.accept(':'); i++ {
		part[i] = p.digits(2, 2)
	}
	if part[0] > 23 || part[1] > 59 || part[2] > 59 {
		p.ok = false
	}
	return sign * (part[0]*3600 + part[1]*60 + part[2])
}
