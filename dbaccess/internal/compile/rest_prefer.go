package compile

import (
	"strconv"
	"strings"

	"github.com/twinpath/twinpath/dbaccess/query"
)

// preferences is the value of a Prefer header.
type preferences struct{ strings.Builder }

func (p *preferences) add(preference string) {
	if p.Len() > 0 {
		p.WriteString(", ")
	}
	p.WriteString(preference)
}

func (p *preferences) count(c query.Count) {
	switch c {
	case query.CountExact:
		p.add("count=exact")
	case query.CountPlanned:
		p.add("count=planned")
	case query.CountEstimated:
		p.add("count=estimated")
	}
}

// maxAffected adds a limit, which PostgREST heeds only when asked to be strict.
func (p *preferences) maxAffected(n int64) {
	if n > 0 {
		p.add("handling=strict")
		p.add("max-affected=" + strconv.FormatInt(n, 10))
	}
}

// timeZone adds a time zone. What it is, checkSpec has looked at.
func (p *preferences) timeZone(zone string) {
	if zone != "" {
		p.add("timezone=" + zone)
	}
}

// checkTimeZone refuses what can't be part of a header, or would be another
// preference.
func checkTimeZone(zone string) error {
	for i := range len(zone) {
		if c := zone[i]; c < ' ' || c == 0x7f || c == ',' {
			return &query.UnsupportedError{Node: "time zone", Reason: "it must be a zone's name or offset"}
		}
	}
	if strings.TrimSpace(zone) != zone {
		return &query.UnsupportedError{Node: "time zone", Reason: "it has blanks around it"}
	}
	return nil
}
