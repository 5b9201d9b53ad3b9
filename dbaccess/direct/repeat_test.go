package direct_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// lastWords is a server whose first session ends as said once a batch has come, and
// whose others are lasting. It counts the batches.
type lastWords struct {
	batches  atomic.Int64
	sessions atomic.Int64
	end      func(conn net.Conn, b *pgproto3.Backend) error
}

func (s *lastWords) serve(conn net.Conn) error {
	b := pgproto3.NewBackend(conn, conn)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return err
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if err := b.Flush(); err != nil {
		return err
	}
	first := s.sessions.Add(1) == 1
	for {
		m, err := b.Receive()
		if err != nil {
			return nil
		}
		switch m.(type) {
		case *pgproto3.Sync:
			s.batches.Add(1)
			if first {
				return s.end(conn, b)
			}
			b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "42501", Message: "as far as it gets"})
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
			if err := b.Flush(); err != nil {
				return err
			}
		case *pgproto3.Query: // a sign of life
			b.Send(&pgproto3.EmptyQueryResponse{})
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
			if err := b.Flush(); err != nil {
				return err
			}
		}
	}
}

func closes(net.Conn, *pgproto3.Backend) error { return nil }

func resets(conn net.Conn, _ *pgproto3.Backend) error { return conn.(*net.TCPConn).SetLinger(0) }

func says(code, message string) func(net.Conn, *pgproto3.Backend) error {
	return func(_ net.Conn, b *pgproto3.Backend) error {
		b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: code, Message: message})
		return b.Flush()
	}
}

// begins ends in the middle of an answer: the login role and the settings were fine.
func begins(_ net.Conn, b *pgproto3.Backend) error {
	for _, row := range [][][]byte{{[]byte(`{"Level":"read committed"}`), nil}, {[]byte("1"), []byte("0"), nil}} {
		b.Send(&pgproto3.ParseComplete{})
		b.Send(&pgproto3.BindComplete{})
		fields := make([]pgproto3.FieldDescription, len(row))
		for i := range fields {
			fields[i].Name = []byte("c")
		}
		b.Send(&pgproto3.RowDescription{Fields: fields})
		b.Send(&pgproto3.DataRow{Values: row})
		b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
	}
	return b.Flush()
}

// A query whose idle connection has died in a way that could not be seen is sent once
// more, and answered. No write is: what became of it is unknown.
func TestRepeats(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, shelf)
	schema, err := open(t, direct.Config{DSN: db.DirectDSN}).SchemaCache(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write := query.Delete("shelf").Where(query.Eq("id", 1))
	for name, tt := range map[string]struct {
		q       query.Query
		end     func(net.Conn, *pgproto3.Backend) error
		batches int64
		kind    error // of the error; of the second batch it is ErrPermission
		unknown bool
	}{
		"read, closed":                 {lists, closes, 2, dbaccess.ErrPermission, false},
		"read, reset":                  {lists, resets, 2, dbaccess.ErrPermission, false},
		"read, idle limit":             {lists, says("08P01", "client_idle_timeout"), 2, dbaccess.ErrPermission, false},
		"read, pg_terminate_backend":   {lists, says("57P01", "terminating connection due to administrator command"), 2, dbaccess.ErrPermission, false},
		"read, idle_session_timeout":   {lists, says("57P05", "terminating connection due to idle-session timeout"), 2, dbaccess.ErrPermission, false},
		"read, pooler's server":        {lists, says("08P01", "server conn crashed?"), 2, dbaccess.ErrPermission, false},
		"read, Supavisor":              {lists, says("XX000", "(EDBHANDLEREXITED) connection to database closed. Check logs"), 2, dbaccess.ErrPermission, false},
		"read, full":                   {lists, says("08P01", "query_wait_timeout"), 1, dbaccess.ErrSaturated, false},
		"read, unknown":                {lists, says("XX000", "what is this"), 1, nil, false},
		"read, answer begun":           {lists, begins, 1, dbaccess.ErrUnavailable, false},
		"write, closed":                {write, closes, 1, dbaccess.ErrUnavailable, true},
		"write, reset":                 {write, resets, 1, dbaccess.ErrUnavailable, true},
		"write, pg_terminate_backend":  {write, says("57P01", "terminating connection due to administrator command"), 1, nil, true},
		"function that reads, closed":  {query.Call("nap_idly", nil), closes, 1, dbaccess.ErrUnavailable, false},
		"function that writes, closed": {query.Call("nap", nil), closes, 1, dbaccess.ErrUnavailable, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &lastWords{end: tt.end}
			addr := listen(t, s.serve)
			b := open(t, direct.Config{DSN: "postgres://app@" + addr + "/db?sslmode=disable", SchemaCache: schema, KeepWarm: -1})
			direct.TakeAll(t.Context(), b, 1)()
			res, err := b.Do(t.Context(), call(tt.q, anon))
			if err == nil || tt.kind != nil && !errors.Is(err, tt.kind) || errors.Is(err, dbaccess.ErrUnknownOutcome) != tt.unknown {
				t.Errorf("error %v, want %v, unknown %t", err, tt.kind, tt.unknown)
			}
			if n := s.batches.Load(); n != tt.batches {
				t.Errorf("%d batches were sent, want %d", n, tt.batches)
			}
			if got := b.PoolStats().Replaced; got != tt.batches-1 {
				t.Errorf("%d connections replaced, want %d", got, tt.batches-1)
			}
			shape(t, res.Phases) // without gaps
		})
	}
}

// A connection that is new is not suspected of having died idle: whoever ends every
// session is not asked for ever.
func TestNewConnectionIsNotRepeated(t *testing.T) {
	t.Parallel()
	s := &lastWords{end: closes}
	b := open(t, direct.Config{DSN: "postgres://app@" + listen(t, s.serve) + "/db?sslmode=disable", KeepWarm: -1})
	if _, err := b.Do(t.Context(), call(lists, anon)); !errors.Is(err, dbaccess.ErrUnavailable) || s.batches.Load() != 1 {
		t.Errorf("error %v after %d batches, want ErrUnavailable after one", err, s.batches.Load())
	}
}

// Nothing of a transaction has happened when its BEGIN meets a dead connection, and
// nothing of a look at the schema.
func TestBeginAndSchemaAreRepeated(t *testing.T) {
	t.Parallel()
	s := &lastWords{end: closes}
	cfg := direct.Config{DSN: "postgres://app@" + listen(t, s.serve) + "/db?sslmode=disable", KeepWarm: -1}
	db := txDB(t, cfg)
	b, _ := backends.Load(db)
	direct.TakeAll(t.Context(), b.(*direct.Backend), 1)()
	called := false
	err := direct.Tx(auth.With(t.Context(), anon), db, direct.TxOptions{}, func(context.Context, direct.Transaction) error {
		called = true
		return nil
	})
	if !errors.Is(err, dbaccess.ErrPermission) || called || s.batches.Load() != 2 {
		t.Errorf("error %v after %d batches, want what the second said", err, s.batches.Load())
	}

	s = &lastWords{end: closes}
	cfg.DSN = "postgres://app@" + listen(t, s.serve) + "/db?sslmode=disable"
	loads := open(t, cfg)
	direct.TakeAll(t.Context(), loads, 1)()
	if _, err := loads.SchemaCache(t.Context()); !errors.Is(err, dbaccess.ErrPermission) || s.batches.Load() != 2 {
		t.Errorf("error %v after %d batches, want what the second said", err, s.batches.Load())
	}
}

// What could not be seen to be dead is found out on real servers, too.
func TestUnseenDeaths(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	for name, r := range routes(t, db) {
		for how, cut := range map[string]func() int{"closed": r.proxy.DropAll, "reset": r.proxy.ResetAll} {
			b := open(t, direct.Config{DSN: r.dsn, MaxConns: 3, KeepWarm: -1})
			if err := r.proxy.AwaitOpen(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			fill(t, b, 3)
			direct.Blind(b)
			cut()
			res, err := b.Do(t.Context(), call(lists, anon))
			if err != nil {
				t.Fatalf("%s, %s: %v", name, how, err)
			}
			if got := compact(t, res.Body); got != alicesPublic || res.Conn != dbaccess.ConnNew {
				t.Errorf("%s, %s: %s on a connection that is %q", name, how, got, res.Conn)
			}
			if s := b.PoolStats(); s.Replaced != 3 || s.New != 4 {
				t.Errorf("%s, %s: %+v, want all three replaced by one", name, how, s)
			}
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}
