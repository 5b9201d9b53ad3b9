package direct_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// Users whose transactions and calls share few connections never see each other's
// rows, whatever becomes of any of them.
func TestTxIsolatesUsers(t *testing.T) {
	t.Parallel()
	pg := pgtest.Golden(t)
	pg.Exec(t, things)
	db := txDB(t, direct.Config{DSN: pg.PoolerDSN, MaxConns: 3})
	users := make([]auth.Identity, 6)
	for i := range users {
		users[i] = auth.Identity{Role: "authenticated", Claims: json.RawMessage(fmt.Sprintf(`{"sub":"00000000-0000-0000-0000-%012d"}`, i+1))}
	}
	const each = 20
	var wg sync.WaitGroup
	for u, id := range users {
		wg.Go(func() {
			ctx := auth.With(directly(t.Context()), id)
			committed := 0
			for n := range each {
				key := u*each + n
				fate := rand.IntN(4)
				err := direct.Tx(ctx, db, direct.TxOptions{Timeout: time.Minute}, func(ctx context.Context, tx direct.Transaction) error {
					if _, err := tx.Exec(ctx, "insert into mine (id) values ($1)", key); err != nil {
						return err
					}
					switch fate {
					case 0:
						return errRollBack
					case 1:
						return second(tx.Exec(ctx, "select 1/0"))
					case 2:
						return second(tx.Exec(ctx, "select set_config('request.jwt.claims', '{}', true)"))
					}
					return nil
				})
				if fate == 3 {
					committed++
				}
				if fate == 3 && err != nil || fate == 0 && err != errRollBack || fate == 1 && !errors.Is(err, dbaccess.ErrInvalid) ||
					fate == 2 && !errors.Is(err, dbaccess.ErrTransaction) {
					t.Errorf("fate %d: error %v", fate, err)
				}
				rows, err := dbaccess.Count(ctx, db, query.From("mine"))
				if err != nil || rows != int64(committed) {
					t.Errorf("user %d sees %d rows, error %v; has committed %d", u, rows, err, committed)
				}
			}
		})
	}
	wg.Wait()
	b, _ := backends.Load(db)
	if made := direct.NewConns(b.(*direct.Backend)); made > 3 {
		t.Errorf("%d connections were made, want at most 3: one was lost", made)
	}
}

// FuzzTxRefused hides statements that must not be sent behind what Postgres skips.
func FuzzTxRefused(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Add([]byte{9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 255})
	f.Fuzz(func(t *testing.T, choices []byte) {
		blanks := []string{" ", "\n", "\t", "/* set local */", "/* /* select */ */", "-- select\n", "--\r\n", "/**/"}
		gap := func(i int) string {
			s := ""
			for n := range min(len(choices), 6) {
				s += blanks[int(choices[(i+n)%len(choices)])%len(blanks)]
			}
			if s == "" {
				return " "
			}
			return s
		}
		for i, words := range [][]string{
			{"commit"}, {"end"}, {"abort"}, {"rollback"}, {"begin"}, {"start", "transaction"}, {"set", "role", "x"}, {"set", "local", "role", "x"},
			{"set", "session", "authorization", "x"}, {"reset", "role"}, {"prepare", "transaction", "'x'"}, {"discard", "all"},
			{"rollback", "work"}, {"rollback", "prepared", "'x'"}, {"set", "statement_timeout", "to", "0"},
		} {
			sql := gap(i)
			if len(choices) > 0 && choices[0]%2 == 0 {
				sql += ";" + gap(i+1)
			}
			for j, w := range words {
				if len(choices) > 0 && choices[(i+j)%len(choices)]%3 == 0 {
					w = strings.ToUpper(w)
				}
				sql += w + gap(i+j)
			}
			if !errors.Is(direct.Refused(sql), dbaccess.ErrTransaction) {
				t.Errorf("%q is let through", sql)
			}
		}
	})
}
