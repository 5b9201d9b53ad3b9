package site

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

// maxParam is the longest value of a query parameter, in bytes.
const maxParam = 200

// params reads query parameters and keeps the first thing that is wrong with them. Its errors name
// the parameter, never the value.
type params struct {
	values url.Values
	err    error
}

func paramsOf(c echo.Context) *params {
	p := &params{values: c.QueryParams()}
	for name, values := range p.values {
		for _, v := range values {
			switch {
			case len(v) > maxParam:
				p.fail(shown(name), "is longer than "+strconv.Itoa(maxParam)+" bytes")
			case !utf8.ValidString(v) || strings.IndexByte(v, 0) >= 0:
				p.fail(shown(name), "is no text that Postgres could store: it has a zero byte, or is not UTF-8")
			}
		}
	}
	return p
}

// knownParam is what a parameter's name may look like to be repeated in an answer.
var knownParam = regexp.MustCompile(`^[a-z_]{1,20}$`)

func shown(name string) string {
	if knownParam.MatchString(name) {
		return name
	}
	return "a parameter"
}

func (p *params) fail(name, what string) {
	if p.err == nil {
		p.err = &Problem{Status: http.StatusBadRequest, Code: "bad_parameter", Message: name + " " + what}
	}
}

func (p *params) text(name string) string { return p.values.Get(name) }

func (p *params) integer(name string, fallback, least, most int) int {
	v := p.values.Get(name)
	if v == "" {
		return fallback
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		p.fail(name, "must be a whole number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most))
		return fallback
	}
	return n
}

// decimal returns a number as it was written, so that no digit is lost on its way to the database.
func (p *params) decimal(name, fallback string) string {
	v := p.values.Get(name)
	if v == "" {
		return fallback
	}
	if !decimalForm.MatchString(v) {
		p.fail(name, "must be a number, such as 1500 or 2.5")
		return fallback
	}
	return v
}

var decimalForm = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,6})?$`)

// instant returns a date or a time, and whether the parameter was given.
func (p *params) instant(name string) (time.Time, bool) {
	v := p.values.Get(name)
	if v == "" {
		return time.Time{}, false
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, v); err == nil {
			return t, true
		}
	}
	p.fail(name, "must be a date, such as 2026-06-01, or an RFC 3339 time")
	return time.Time{}, false
}

// choices returns the members of a comma-separated list, each of which must be among allowed.
func (p *params) choices(name string, allowed ...string) []string {
	v := p.values.Get(name)
	if v == "" {
		return nil
	}
	list := strings.Split(v, ",")
	for _, c := range list {
		if !slices.Contains(allowed, c) {
			p.fail(name, "must be a list of "+strings.Join(allowed, ", "))
			return nil
		}
	}
	return list
}

func (p *params) flag(name string) bool {
	switch p.values.Get(name) {
	case "", "false", "0":
		return false
	case "true", "1":
		return true
	}
	p.fail(name, "must be true or false")
	return false
}
