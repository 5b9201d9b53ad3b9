package secrets_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/query"
)

// kind is a way in which a call ends.
type kind struct {
	name string
	ask  func(ctx context.Context, w *world) error
	code string // of the error; "" where there is none, or its text is the whole point
	fine bool   // it ends well
	says bool   // the server's own words have the secret, behind Message, Detail or Hint
}

type fields = map[string]any

type volume struct {
	ID    int    `db:"id"`
	Title string `db:"title"`
}

func exec(q query.Query) func(context.Context, *world) error {
	return execOn(func(w *world) *dbaccess.DB { return w.fine }, q)
}

func execOn(db func(*world) *dbaccess.DB, q query.Query) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		_, err := dbaccess.Exec(ctx, db(w), q)
		return err
	}
}

func raw(q query.Query) func(context.Context, *world) error {
	return rawOn(func(w *world) *dbaccess.DB { return w.fine }, q)
}

func rawOn(db func(*world) *dbaccess.DB, q query.Query) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		_, err := dbaccess.JSON(ctx, db(w), q)
		return err
	}
}

func one[T any](q query.Query) func(context.Context, *world) error {
	return func(ctx context.Context, w *world) error {
		_, err := dbaccess.One[T](ctx, w.fine, q)
		return err
	}
}

func insert(row fields) query.Query { return query.Insert("shelf", row) }

func nap(ctx context.Context, w *world) error {
	_, err := dbaccess.Exec(ctx, w.fine, query.Call("nap", fields{"seconds": 3, "v": value}))
	return err
}

// kinds are run one after the other, on each path.
var kinds = []kind{
	{name: "read", ask: raw(shelf().Where(query.Eq("title", value))), fine: true},
	{name: "insert", ask: exec(query.Insert("shelf", fields{"id": 1, "title": value}).Ignore()), fine: true},
	{name: "update", ask: exec(query.Update("shelf", fields{"maybe": value}).Where(query.Eq("title", value))), fine: true},
	{name: "call", ask: raw(query.Call("echo_json", fields{"payload": fields{"v": value}})), fine: true},
	{name: "headers arrive", fine: true, ask: func(ctx context.Context, w *world) error {
		_, err := dbaccess.One[string](ctx, w.fine, query.Call("heard", nil))
		return err
	}},

	// What the database refuses.
	{name: "no number", ask: raw(shelf().Where(query.Eq("id", value))), code: "22P02", says: true},
	{name: "no number to insert", ask: exec(insert(fields{"id": value, "title": "x"})), code: "22P02", says: true},
	{name: "unique", ask: exec(insert(fields{"id": 2, "title": value})), code: "23505", says: true},
	{name: "check", ask: exec(insert(fields{"id": 2, "title": "a", "size": -1, "maybe": value})), code: "23514", says: true},
	{name: "not null", ask: exec(insert(fields{"id": 2, "title": nil, "maybe": value})), code: "23502", says: true},
	{name: "at the commit", ask: exec(query.Insert("leaf", fields{"id": 1, "shelf": 99})), code: "23503"},
	{name: "raise", ask: exec(query.Call("quote_back", fields{"code": "P0001", "v": value})), code: "P0001", says: true},
	{name: "raise a status", ask: exec(query.Call("quote_back", fields{"code": "PT418", "v": value})), code: "PT418", says: true},
	{name: "raise an unknown code", ask: exec(query.Call("quote_back", fields{"code": "ZZ999", "v": value})), code: "ZZ999", says: true},
	{name: "raise an answer", ask: exec(query.Call("raise_pgrst", fields{"v": value})), code: "123", says: true},
	{name: "no right", ask: raw(query.From("secrets").Where(query.Eq("token", value))), code: "42501"},
	{name: "no table", ask: raw(query.From("nopes").Where(query.Eq("title", value))), code: "PGRST205"},
	{name: "no column", ask: raw(shelf().Where(query.Eq("nope", value))), code: "42703"},
	{name: "no function", ask: raw(query.Call("nope", fields{"v": value})), code: "PGRST202"},
	{name: "no row", ask: one[volume](shelf().Where(query.Eq("title", value+"-none"))), code: "PGRST116"},
	{name: "too many", ask: exec(query.Update("companies", fields{"description": value}).Where(query.AllRows()).MaxAffected(1)), code: "PGRST124"},
	{name: "no configuration", ask: raw(query.From("companies").Where(query.PlainTSQuery("description", value, "nope"))), code: "42704"},

	// What is refused here, or can't be read.
	{name: "a zero byte", ask: raw(shelf().Where(query.Eq("title", value+"\x00")))},
	{name: "no UTF-8", ask: raw(shelf().Where(query.Eq("title", value+"\xff")))},
	{name: "a star", ask: raw(shelf().Where(query.Like("title", value+"*")))},
	{name: "no condition", ask: exec(query.Update("shelf", fields{"maybe": value}))},
	{name: "a value that is none", ask: raw(shelf().Where(query.Eq("title", talkativeFunc{value, func() {}})))},
	{name: "a row that is none", ask: exec(query.Insert("shelf", struct {
		Title string `db:"title"`
		Func  func() `db:"maybe"`
	}{value, func() {}}))},
	{name: "a marshaler that fails", ask: exec(query.Insert("shelf", fields{"title": failing{}}))},
	{name: "JSON that is none", ask: exec(query.Insert("shelf", json.RawMessage(`{"title":"`+value+`"`)))},
	{name: "another type", ask: one[struct {
		Title int `db:"title"`
	}](shelf().Where(query.Eq("title", value)))},
	{name: "another type of JSON", ask: one[struct {
		Title struct{ A int } `db:"title"`
	}](shelf().Where(query.Eq("title", value)))},
	{name: "a NULL", ask: one[struct {
		Size int `db:"size"`
	}](shelf().Where(query.Eq("title", value)))},
	{name: "truncated", ask: func(ctx context.Context, w *world) error {
		_, err := dbaccess.All[struct {
			Ticker string `db:"ticker"`
		}](ctx, w.fine, query.From("companies").Where(query.Neq("name", value)))
		return err
	}},

	// Who asks.
	{name: "nobody", ask: func(_ context.Context, w *world) error {
		return raw(shelf().Where(query.Eq("title", value)))(w.Context(), w)
	}, code: "PGRST302"},
	{name: "claims that are none", ask: func(ctx context.Context, w *world) error {
		return raw(shelf())(auth.With(ctx, auth.Identity{Role: "anon", Claims: json.RawMessage(`["` + email + `"]`)}), w)
	}},
	{name: "claims that are no text", ask: func(ctx context.Context, w *world) error {
		return raw(shelf())(auth.With(ctx, auth.Identity{Role: "anon", Claims: json.RawMessage(`{"e":"` + email + "\xff\"}")}), w)
	}},
	{name: "a role that the login may not become", ask: func(ctx context.Context, w *world) error {
		return raw(shelf())(auth.With(ctx, auth.Identity{Role: "service_role", Claims: w.who().Claims}), w)
	}},
	{name: "no service", ask: func(ctx context.Context, w *world) error {
		return raw(shelf().Where(query.Eq("title", value)))(auth.AsService(ctx), w)
	}},
	{name: "an indiscreet signer", ask: func(ctx context.Context, w *world) error {
		return rawOn(func(w *world) *dbaccess.DB { return w.unsigned }, shelf().Where(query.Eq("title", value)))(auth.With(ctx, w.who()), w)
	}},

	// Time.
	{name: "deadline", ask: func(ctx context.Context, w *world) error {
		ctx, cancel := context.WithTimeoutCause(ctx, 150*time.Millisecond, errors.New(value))
		defer cancel()
		return nap(ctx, w)
	}},
	{name: "cancel", ask: func(ctx context.Context, w *world) error {
		ctx, cancel := context.WithCancelCause(ctx)
		timer := time.AfterFunc(100*time.Millisecond, func() { cancel(errors.New(value)) })
		defer timer.Stop()
		return nap(ctx, w)
	}},

	// Connections.
	{name: "unreachable", ask: rawOn(func(w *world) *dbaccess.DB { return w.unreachable }, shelf().Where(query.Eq("title", value)))},
	{name: "unwelcome", ask: rawOn(func(w *world) *dbaccess.DB { return w.unwelcome }, shelf().Where(query.Eq("title", value)))},
	{name: "a gateway", ask: rawOn(func(w *world) *dbaccess.DB { return w.gateway }, shelf().Where(query.Eq("title", value)))},
	{name: "a gateway at a write", ask: execOn(func(w *world) *dbaccess.DB { return w.gateway }, insert(fields{"id": 3, "title": value}))},
	{name: "moved", ask: rawOn(func(w *world) *dbaccess.DB { return w.moved }, shelf().Where(query.Eq("title", value)))},
	{name: "garbled", ask: rawOn(func(w *world) *dbaccess.DB { return w.garbled }, shelf().Where(query.Eq("title", value)))},
	{name: "garbled at a write", ask: rawOn(func(w *world) *dbaccess.DB { return w.garbled }, insert(fields{"id": 3, "title": value}))},
	{name: "cut", ask: rawOn(func(w *world) *dbaccess.DB { return w.cut }, shelf().Where(query.Eq("title", value)))},
	{name: "cut at a write", ask: execOn(func(w *world) *dbaccess.DB { return w.cut }, insert(fields{"id": 3, "title": value}))},
	{name: "closed", ask: rawOn(func(w *world) *dbaccess.DB { return w.closed }, shelf().Where(query.Eq("title", value)))},
	{name: "lost in the middle of a write", ask: func(ctx context.Context, w *world) error {
		timer := time.AfterFunc(200*time.Millisecond, func() {
			for _, p := range w.proxies {
				p.ResetAll()
			}
		})
		defer timer.Stop()
		return nap(ctx, w)
	}},

	// The application's own ways.
	{name: "wrapped", ask: func(ctx context.Context, w *world) error {
		return fmt.Errorf("save: %w", exec(insert(fields{"id": 2, "title": value}))(ctx, w))
	}, code: "23505", says: true},
	{name: "joined", ask: func(ctx context.Context, w *world) error {
		return errors.Join(errors.New("save"), raw(shelf().Where(query.Eq("id", value)))(ctx, w))
	}, code: "22P02", says: true},
	{name: "panic", ask: func(ctx context.Context, w *world) error {
		panic(exec(insert(fields{"id": 2, "title": value}))(ctx, w))
	}},
}

// talkativeFunc is no value that a filter could have.
type talkativeFunc struct {
	Text string
	Func func()
}

// failing is a value whose encoding fails, with a secret in the error.
type failing struct{}

func (failing) MarshalJSON() ([]byte, error) { return nil, errors.New("can't encode " + value) }
