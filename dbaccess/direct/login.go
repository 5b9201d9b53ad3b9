package direct

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
)

// ErrPrivilegedLogin means that the role that connections log in as has privileges
// of its own, so that nothing was run: it is superuser, has BYPASSRLS, inherits
// the privileges of roles that it is a member of, or owns what is exposed.
// [SetupSQL] makes a role that will do, and Config.AllowPrivilegedLogin lets any
// other through.
//
// The call that finds out is undone by the server before its own statement. For
// [LoginRecheck] after that, calls fail without anything being sent; then one of
// them looks again. [Backend.ReloadSchema] makes the next call look at once.
var ErrPrivilegedLogin = errors.New("the login role has privileges of its own")

const (
	// LoginMaxAge is how long a backend goes on with what it knows of the login
	// role and of the settings of the roles that it may become. The next call then
	// brings the news along with its own answer, at no further trip.
	LoginMaxAge = 5 * time.Minute
	// LoginRecheck is how long a backend whose login role has been refused sends
	// nothing.
	LoginRecheck = 30 * time.Second

	// checkLease is how long others leave a check that is due to the call that
	// makes it.
	checkLease = 5 * time.Second
)

// login is what is known of the login role. Its zero value knows nothing: then
// every call brings the check along, and none waits for another.
type login struct {
	known   atomic.Pointer[loginKnown]
	due     atomic.Int64  // when known is to be looked at again, in ns since 1970
	changes atomic.Uint64 // counts calls of forget
}

// loginKnown is the outcome of a check.
type loginKnown struct {
	faults []string // why the role is refused; nil when it isn't
	level  string   // isolation level of its sessions
	roles  map[string]*roleSettings
}

// roleSettings are what ALTER ROLE … SET has given a role, and SET ROLE does not
// apply.
type roleSettings struct {
	level string   // isolation level, "" for none
	pairs []string // names and values of the others
	timed bool     // statement_timeout is among them
	texts *texts   // for that many pairs
}

// noSettings are those of a role without any.
var noSettings = roleSettings{texts: newTexts(0)}

// loginState is what a call goes by.
type loginState struct {
	role    *roleSettings
	level   string // isolation level of the sessions, "" when that isn't known
	due     bool   // the call brings the check along
	faults  []string
	changes uint64
}

// state says what a call as the role goes by.
func (l *login) state(role string, now time.Time) loginState {
	s := loginState{role: &noSettings, changes: l.changes.Load()}
	k := l.known.Load()
	if k == nil {
		s.due = true
		return s
	}
	if due := l.due.Load(); now.UnixNano() >= due {
		s.due = l.due.CompareAndSwap(due, now.Add(checkLease).UnixNano())
	}
	if s.level = k.level; !s.due {
		s.faults = k.faults
	}
	if r := k.roles[role]; r != nil {
		s.role = r
	}
	return s
}

// forget makes every call bring the check along until one of them has been
// answered.
func (l *login) forget() {
	l.changes.Add(1)
	l.known.Store(nil)
}

// learn notes the outcome of a check that began after so many changes.
func (l *login) learn(k *loginKnown, changes uint64, next time.Duration) {
	if l.changes.Load() != changes {
		return
	}
	l.due.Store(time.Now().Add(next).UnixNano())
	l.known.Store(k)
}

// statementLevel returns the statement that sets the isolation level, with the one
// that the function called has, "" for none.
func (s *loginState) statementLevel(function string) string {
	want := function
	if want == "" && s.level != "" {
		if want = s.role.level; want == "" {
			want = readCommitted
		}
	}
	if want == s.level { // also where neither is known
		return ""
	}
	return isolation[want]
}

// isolation has the statement for each level.
var isolation = map[string]string{
	"serializable":     "set transaction isolation level serializable",
	"repeatable read":  "set transaction isolation level repeatable read",
	readCommitted:      "set transaction isolation level read committed",
	"read uncommitted": "set transaction isolation level read uncommitted",
}

// loginAnswer is what the check yields.
type loginAnswer struct {
	Level string
	Roles []struct {
		Role, Level string
		Settings    [][2]string
	}
}

// parseLogin reads what the check yields.
func parseLogin(document []byte) (*loginKnown, error) {
	var a loginAnswer
	if err := json.Unmarshal(document, &a); err != nil || a.Level == "" {
		return nil, errAnswer
	}
	k := &loginKnown{level: a.Level, roles: make(map[string]*roleSettings, len(a.Roles))}
	made := map[int]*texts{0: noSettings.texts}
	for _, r := range a.Roles {
		s := &roleSettings{pairs: make([]string, 0, 2*len(r.Settings))}
		if r.Level != "" {
			s.level = level(r.Level)
		}
		for _, pair := range r.Settings {
			s.pairs = append(s.pairs, pair[0], pair[1])
			s.timed = s.timed || pair[0] == "statement_timeout"
		}
		n := len(r.Settings)
		if made[n] == nil {
			made[n] = newTexts(n)
		}
		s.texts = made[n]
		k.roles[r.Role] = s
	}
	return k, nil
}

// refusal notes that the check of a transaction has failed for the login role's
// faults, and returns the call's error; nil where that is not why it failed.
func (b *Backend) refusal(at stage, err error, changes uint64) error {
	text, ok := checkText(at, err, faultsText)
	if !ok {
		return nil
	}
	faults := strings.Split(text, "; ")
	b.login.learn(&loginKnown{faults: faults}, changes, LoginRecheck)
	return loginFailure(faults)
}

// wrongLevel returns the isolation level for want of which the check of a
// transaction has failed.
func wrongLevel(at stage, err error) (string, bool) { return checkText(at, err, levelText) }

// checkText returns what stands in braces behind a text of ours in the error of a
// cast. The server's own words around it may be in any language.
func checkText(at stage, err error, ours string) (string, bool) {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || at != stageSettings || pg.Code != "22P02" {
		return "", false
	}
	_, text, ok := strings.Cut(pg.Message, ours+"{")
	end := strings.LastIndexByte(text, '}')
	if !ok || end < 0 {
		return "", false
	}
	return text[:end], true
}

// loginFailure is a call whose login role is refused.
func loginFailure(faults []string) error {
	var what, todo []string
	for _, f := range faults {
		kind, names, _ := strings.Cut(f, " ")
		switch kind {
		case "superuser":
			what = append(what, "is superuser")
		case "bypassrls":
			what = append(what, "has BYPASSRLS")
		case "inherits":
			what = append(what, "inherits the privileges of "+names)
			todo = append(todo, "ALTER ROLE … NOINHERIT (from Postgres 16 on also GRANT … WITH INHERIT FALSE)")
		case "owns":
			what = append(what, "owns "+names)
			todo = append(todo, "ALTER … OWNER TO another role")
		}
	}
	advice := "the role that connections log in as " + strings.Join(what, " and ") + ", so nothing was run: " +
		"log in as a role of its own, which direct.SetupSQL makes"
	for _, t := range slices.Compact(todo) {
		advice += ", or " + t
	}
	return dbaccess.Error{
		HTTPStatus: 500, Kind: ErrPrivilegedLogin, Advice: advice + ", or set direct.Config.AllowPrivilegedLogin",
	}.With(dbaccess.ServerText{}, nil)
}
