package doctor

import (
	"fmt"
	"time"
)

// Tokens are good from iat to exp with 30 s of grace, in both verifiers.
const (
	skewWarning = 5 * time.Second
	skewError   = 25 * time.Second
)

// clock judges by how much a server's clock is ahead of this machine's.
func (x *examination) clock(id, whose string, ahead, uncertain time.Duration) {
	off := max(ahead.Abs()-uncertain, 0)
	f := Finding{ID: id}
	switch {
	case off < skewWarning:
		f.What = whose + "'s clock agrees with this machine's"
		x.add(f)
		return
	case off < skewError:
		f.Severity = Warning
	default:
		f.Severity = Error
	}
	direction := "ahead of"
	if ahead < 0 {
		direction = "behind"
	}
	f.What = fmt.Sprintf("%s's clock is %s %s this machine's", whose, off.Round(time.Second), direction)
	f.Why = "tokens are refused as expired or not yet valid when clocks differ by more than 30 s"
	f.Mend = "synchronise the clocks (NTP)"
	x.add(f)
}
