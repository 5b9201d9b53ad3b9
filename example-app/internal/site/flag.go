package site

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/rollout"
)

// FlagName is the name of the flag that picks the path.
const FlagName = "db-access-path"

// Setting is what a [Flag] is set to: a share of the users on the direct path, or one path for all.
type Setting struct {
	Fixed   dbaccess.Path // "" for a share
	Percent float64       // of the users on the direct path
}

// ParseSetting reads "rest", "direct" or "percent:N", N from 0 to 100.
func ParseSetting(s string) (Setting, error) {
	if p := dbaccess.Path(s); p.Valid() {
		return Setting{Fixed: p}, nil
	}
	if n, ok := strings.CutPrefix(s, "percent:"); ok {
		if share, err := strconv.ParseFloat(n, 64); err == nil && share >= 0 && share <= 100 {
			return Setting{Percent: share}, nil
		}
	}
	return Setting{}, errors.New("must be rest, direct or percent:N with N from 0 to 100")
}

// String is what ParseSetting reads.
func (s Setting) String() string {
	if s.Fixed != "" {
		return string(s.Fixed)
	}
	return "percent:" + strconv.FormatFloat(s.Percent, 'f', -1, 64)
}

// Flag is a router whose setting can be changed while requests run.
type Flag struct {
	router *rollout.Switch

	mu      sync.Mutex
	setting Setting
}

// NewFlag returns a flag.
func NewFlag(initial Setting) *Flag {
	f := &Flag{router: rollout.NewSwitch(nil)}
	f.Set(initial)
	return f
}

// Router returns the flag as the DB wants it.
func (f *Flag) Router() dbaccess.Router { return f.router }

// Set changes the setting, for requests that have not decided yet.
func (f *Flag) Set(s Setting) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.setting = s
	if s.Fixed != "" {
		f.router.Set(rollout.Fixed(s.Fixed))
		return
	}
	f.router.Set(rollout.Percent(s.Percent, FlagName))
}

// Setting returns the current setting.
func (f *Flag) Setting() Setting {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.setting
}

// Describe says in words what the setting does.
func (s Setting) Describe() string {
	if s.Fixed != "" {
		return "everybody on " + string(s.Fixed)
	}
	return fmt.Sprintf("%g %% of the users on direct", s.Percent)
}
