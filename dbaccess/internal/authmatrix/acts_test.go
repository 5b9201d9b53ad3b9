package authmatrix_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// How many users have how many rows each: see testdata/soak.sql.
const (
	users = 8
	slots = 5
)

// act is something that a worker does as a user. The error says what is wrong with
// what came of it.
type act struct {
	name string
	do   func(s *soak, random *rand.Rand, me caller) error
}

func user(n int) caller {
	id := "00000000-0000-0000-0000-00000000000" + strconv.Itoa(n)
	return caller{name: strconv.Itoa(n), Identity: auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"` + id + `"}`)}}
}

func (c *caller) in(ctx context.Context) context.Context { return auth.With(ctx, c.Identity) }

// note is a row of testdata/soak.sql.
type note struct {
	ID    int    `db:"id"`
	Owner string `db:"owner"`
	Slot  int    `db:"slot"`
	Note  string `db:"note"`
}

type fields = map[string]any

// failing are the acts that leave every connection as it was, however they end.
var failing = []act{
	{"read", func(s *soak, _ *rand.Rand, me caller) error {
		rows, err := dbaccess.All[note](me.in(s.Context()), s.db, query.From("notes"))
		if err != nil {
			return err
		}
		if len(rows) != slots {
			return fmt.Errorf("%d rows, want %d", len(rows), slots)
		}
		for _, r := range rows {
			if r.Owner != me.Subject() || !strings.HasPrefix(r.Note, me.name+": ") {
				return fmt.Errorf("a row of another: %+v", r)
			}
		}
		return nil
	}},
	{"read as service", func(s *soak, _ *rand.Rand, _ caller) error {
		return counted(s, auth.Identity{Role: "service_role"}, users*slots)
	}},
	{"read as anon", func(s *soak, _ *rand.Rand, _ caller) error {
		return counted(s, auth.Identity{Role: anon}, 0)
	}},
	{"settings", func(s *soak, _ *rand.Rand, me caller) error {
		return settings(s, me, "0")
	}},
	{"settings of a role", func(s *soak, _ *rand.Rand, _ caller) error {
		return settings(s, caller{Identity: auth.Identity{Role: auditor}}, "3s")
	}},
	{"change one", func(s *soak, random *rand.Rand, me caller) error {
		slot := 1 + random.IntN(slots)
		text := fmt.Sprintf("%s: %d", me.name, random.Uint32())
		// There is one of that slot for every user: the policy alone picks this one's.
		n, err := dbaccess.Exec(me.in(s.Context()), s.db, query.Update("notes", fields{"note": text}).Where(query.Eq("slot", slot)))
		if err == nil && n != 1 {
			err = fmt.Errorf("%d rows changed, want 1", n)
		}
		return unless(err, "40P01")
	}},
	{"change one of many", func(s *soak, _ *rand.Rand, me caller) error {
		_, err := dbaccess.One[note](me.in(s.Context()), s.db, query.Update("notes", fields{"note": me.name + ": undone"}).Where(query.AllRows()))
		return want(err, "PGRST116", "40P01")
	}},
	{"change too many", func(s *soak, _ *rand.Rand, me caller) error {
		_, err := dbaccess.Exec(me.in(s.Context()), s.db, query.Update("notes", fields{"note": me.name + ": undone"}).Where(query.AllRows()).MaxAffected(2))
		return want(err, "PGRST124", "40P01")
	}},
	{"change another's", func(s *soak, random *rand.Rand, me caller) error {
		other := user(1 + random.IntN(users))
		n, err := dbaccess.Exec(me.in(s.Context()), s.db, query.Delete("notes").Where(query.Eq("owner", other.Subject()), query.Neq("owner", me.Subject())))
		if err == nil && n != 0 {
			err = fmt.Errorf("%d rows of another removed", n)
		}
		return err
	}},
	{"add for another", func(s *soak, _ *rand.Rand, me caller) error {
		_, err := dbaccess.Exec(me.in(s.Context()), s.db, query.Insert("notes", fields{"id": 999, "owner": aliceID, "slot": 1, "note": "undone"}))
		return want(err, "42501")
	}},
	{"add twice", func(s *soak, _ *rand.Rand, me caller) error {
		_, err := dbaccess.Exec(me.in(s.Context()), s.db, query.Insert("notes", fields{"id": 999, "owner": me.Subject(), "slot": 1, "note": me.name + ": undone"}))
		return want(err, "23505")
	}},
	{"commit what leads nowhere", func(s *soak, random *rand.Rand, me caller) error {
		_, err := dbaccess.Exec(me.in(s.Context()), s.db, query.Insert("tails", fields{"id": random.Int32(), "head": -1}))
		return want(err, "23503")
	}},
	{"no number", func(s *soak, _ *rand.Rand, me caller) error {
		_, err := dbaccess.JSON(me.in(s.Context()), s.db, query.From("notes").Where(query.Eq("id", "one")))
		return want(err, "22P02")
	}},
	{"no right", func(s *soak, _ *rand.Rand, me caller) error {
		_, err := dbaccess.JSON(me.in(s.Context()), s.db, query.From("secrets"))
		return want(err, "42501")
	}},
	{"no such role", func(s *soak, _ *rand.Rand, _ caller) error {
		_, err := dbaccess.JSON(auth.With(s.Context(), auth.Identity{Role: "twinpath_nobody"}), s.db, query.From("notes"))
		return want(err, "22023")
	}},
	{"raise", func(s *soak, _ *rand.Rand, me caller) error {
		_, err := dbaccess.Exec(me.in(s.Context()), s.db, query.Call("fail_with", fields{"code": "P0001"}))
		return want(err, "P0001")
	}},
	{"write where nobody may", func(s *soak, _ *rand.Rand, _ caller) error {
		_, err := dbaccess.Exec(auth.With(s.Context(), auth.Identity{Role: "service_role"}), s.db, query.Call("write_behind_stable", nil))
		return want(err, "25006")
	}},
	{"time out", func(s *soak, _ *rand.Rand, me caller) error {
		return want(nap(s.Context(), s.hasty, me, 20), "57014")
	}},
}

// giving are the acts of callers that give up.
var giving = []act{
	{"deadline", func(s *soak, random *rand.Rand, me caller) error {
		ctx, cancel := context.WithTimeout(s.Context(), time.Duration(60+random.IntN(200))*time.Millisecond)
		defer cancel()
		err := nap(ctx, s.db, me, 20)
		if errors.Is(err, dbaccess.ErrTimeout) && errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		return fmt.Errorf("error %w, want ErrTimeout", err)
	}},
	{"cancel", func(s *soak, random *rand.Rand, me caller) error {
		ctx, cancel := context.WithCancel(s.Context())
		defer cancel()
		timer := time.AfterFunc(time.Duration(random.IntN(60_000))*time.Microsecond, cancel)
		defer timer.Stop()
		if err := nap(ctx, s.db, me, 0.03); !errors.Is(err, context.Canceled) {
			return err // nil is fine as well
		}
		return nil
	}},
	{"cancel a write", func(s *soak, random *rand.Rand, me caller) error {
		ctx, cancel := context.WithCancel(s.Context())
		defer cancel()
		timer := time.AfterFunc(time.Duration(random.IntN(8_000))*time.Microsecond, cancel)
		defer timer.Stop()
		_, err := dbaccess.Exec(me.in(ctx), s.db, query.Update("notes", fields{"note": me.name + ": maybe"}).Where(query.Eq("slot", 1+random.IntN(slots))))
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return unless(err, "40P01")
	}},
}

// want checks that err is one of the codes.
func want(err error, codes ...string) error {
	if e, ok := errors.AsType[*dbaccess.Error](err); ok && slices.Contains(codes, e.Code) {
		return nil
	}
	return fmt.Errorf("error %w, want %s", err, codes[0])
}

// unless lets errors of the code pass.
func unless(err error, code string) error {
	if e, ok := errors.AsType[*dbaccess.Error](err); ok && e.Code == code {
		return nil
	}
	return err
}

// nap sleeps in the database, which then says who it was.
func nap(ctx context.Context, db *dbaccess.DB, me caller, seconds float64) error {
	who, err := dbaccess.One[string](me.in(ctx), db, query.Call("nap", fields{"seconds": seconds}))
	if err == nil && who != "authenticated "+me.Subject() {
		err = fmt.Errorf("ran as %s", who)
	}
	return err
}

// counted checks how many rows an identity sees.
func counted(s *soak, id auth.Identity, want int64) error {
	n, err := dbaccess.Count(auth.With(s.Context(), id), s.db, query.From("notes"))
	if err == nil && n != want {
		err = fmt.Errorf("%d rows, want %d", n, want)
	}
	return err
}

// settings checks all that a call's transaction is set to.
func settings(s *soak, me caller, lockTimeout string) error {
	claims, err := me.ClaimsWithRole()
	if err != nil {
		return err
	}
	body, err := dbaccess.JSON(me.in(s.Context()), s.db, query.Call("settings", nil))
	if err != nil {
		return err
	}
	var got, claimed map[string]any
	if err := errors.Join(json.Unmarshal(body, &got), json.Unmarshal(claims, &claimed)); err != nil {
		return err
	}
	delete(got, "timezone")
	if diff := cmp.Diff(map[string]any{
		"user": me.Role, "role": me.Role, "claims": claimed, "path": "/rpc/settings", "method": "POST",
		"search_path": `"public", "public"`, "read_only": "on", "lock_timeout": lockTimeout,
	}, got); diff != "" {
		return fmt.Errorf("settings (-want +got):\n%s", diff)
	}
	return nil
}

// neutral reads what must not be left on a connection.
const neutral = `select current_user, session_user, current_setting('role'), current_setting('search_path'),
	current_setting('statement_timeout'), current_setting('lock_timeout'), current_setting('timezone'),
	current_setting('transaction_read_only'), current_setting('transaction_isolation'), current_setting('row_security'),
	coalesce(current_setting('request.jwt.claims', true), ''), coalesce(current_setting('request.method', true), ''),
	coalesce(current_setting('request.path', true), ''), coalesce(current_setting('request.headers', true), ''),
	coalesce(current_setting('request.cookies', true), ''), coalesce(current_setting('response.status', true), ''),
	coalesce(current_setting('response.headers', true), '')`

// neighbour is a connection of the app's own through the same pooler.
type neighbour struct {
	*soak
	conn *pgconn.PgConn
}

func (s *soak) newNeighbour() *neighbour {
	s.Helper()
	return &neighbour{s, connect(s, s.dsn)}
}

func (n *neighbour) act(random *rand.Rand) {
	n.Helper()
	if random.IntN(3) > 0 {
		n.look()
		return
	}
	n.asPeopleWriteIt(user(1+random.IntN(users)), random.IntN(2) == 0)
}

// look checks that a connection which nobody has set up is as it was made.
func (n *neighbour) look() {
	n.Helper()
	rows, _, err := run(n.Context(), n.conn, neutral)
	if err != nil {
		n.failf("a neighbour's statement: %v", err)
		return
	}
	n.did.add("neutral")
	if diff := cmp.Diff(n.fresh, rows[0]); diff != "" {
		n.failf("a setting was left for a neighbour (-want +got):\n%s", diff)
	}
	if _, _, err := run(n.Context(), n.conn, "select from public.notes"); sqlState(err) != "42501" {
		n.failf("a neighbour without a role reads rows: %v", err)
	}
}

// asPeopleWriteIt is a transaction with the same settings, made in as many trips.
func (n *neighbour) asPeopleWriteIt(me caller, fails bool) {
	n.Helper()
	n.did.add("neighbour's transaction")
	end := "commit"
	for _, sql := range []string{
		"begin", "set local role authenticated", "set local statement_timeout = '7s'",
		"select set_config('request.jwt.claims', '" + string(me.Claims) + "', true)",
	} {
		if _, _, err := run(n.Context(), n.conn, sql); err != nil {
			n.failf("%s: %v", sql, err)
		}
	}
	rows, _, err := run(n.Context(), n.conn, "select owner from public.notes")
	if err != nil || len(rows) != slots {
		n.failf("a neighbour's transaction: %d rows, %v", len(rows), err)
	}
	for _, r := range rows {
		if r[0] != me.Subject() {
			n.failf("a neighbour's transaction reads a row of %s", r[0])
		}
	}
	if fails {
		end = "rollback"
		if _, _, err := run(n.Context(), n.conn, "select 1/0"); sqlState(err) != "22012" {
			n.failf("1/0: %v", err)
		}
	}
	if _, _, err := run(n.Context(), n.conn, end); err != nil {
		n.failf("%s: %v", end, err)
	}
}
