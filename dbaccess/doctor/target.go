package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/twinpath/twinpath/dbaccess/internal/pgdsn"
)

// maxMessage bounds a message of a server that can't be trusted to be Postgres.
const maxMessage = 1 << 20

// target is a server that a connection string leads to.
type target struct {
	name     string // "direct" or "session": the first part of the findings' ids
	settings *pgdsn.Settings
	host     pgdsn.Host     // the one that answered
	config   *pgconn.Config // for it alone
	address  string         // that it answered at
	first    net.Conn       // open and unused: the first connection takes it
	sockets  []net.Conn
	conns    []*pgconn.PgConn
}

// target reads a connection string, and says what is to be said about it. It returns
// nil when the string is refused.
func (x *examination) target(name, dsn string) *target {
	settings, err := pgdsn.Parse(dsn)
	if err != nil {
		mend := "correct the connection string"
		if bad, ok := errors.AsType[*pgdsn.Error](err); ok {
			for _, p := range bad.Problems {
				what := p.Param
				if what == "" {
					what = "the connection string"
				} else if p.Source != "" {
					what += " (from " + p.Source + ")"
				}
				x.add(Finding{
					ID: name + ".dsn", Severity: Error, What: what + " is refused", Mend: p.Advice,
					Why: "a pooler would refuse it, or it would change results: direct.New does not connect with it",
				})
			}
			return nil
		}
		x.add(Finding{ID: name + ".dsn", Severity: Error, What: "the connection string can't be read", Mend: mend})
		return nil
	}
	severity, text := OK, "leads to "+where(settings)
	if settings.Route.Text != "" {
		text += ": " + settings.Route.Text
	}
	x.add(Finding{ID: name + ".dsn", Severity: severity, What: text})
	if name == "direct" && settings.Route.Mode == pgdsn.ModeSession {
		x.add(Finding{
			ID: name + ".dsn", Severity: Warning, What: "the port is that of the pooler's session mode",
			Why: "every client holds a server connection for as long as it stays", Mend: "use port 6543 for the direct path",
		})
	}
	for _, n := range settings.Notes {
		f := Finding{ID: name + ".dsn", Severity: Info, What: n.String()}
		if n.Warning {
			f.Severity, f.Mend = Warning, "see docs/dsn.md"
		}
		x.add(f)
	}
	return &target{name: name, settings: settings}
}

// where names the servers of a string.
func where(s *pgdsn.Settings) string {
	var names []string
	for _, h := range s.Hosts() {
		names = append(names, address(h))
	}
	return strings.Join(names, ", ")
}

func address(h pgdsn.Host) string {
	if strings.HasPrefix(h.Host, "/") {
		return plainHost(h.Host)
	}
	return net.JoinHostPort(plainHost(h.Host), fmt.Sprint(h.Port))
}

// prepare makes the config for the host that answered. What pgx would try next is left
// out, and so are cancel requests: they take a connection of their own, and PgBouncer
// 1.18 dies of some.
func (t *target) prepare(h pgdsn.Host, index int) {
	c := t.settings.Pool.ConnConfig.Config.Copy()
	if index > 0 {
		f := c.Fallbacks[index-1]
		c.Host, c.Port, c.TLSConfig = f.Host, f.Port, f.TLSConfig
	}
	c.Fallbacks, c.ConnectTimeout = nil, 0
	c.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	c.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(r, w)
		f.SetMaxBodyLen(maxMessage)
		return f
	}
	t.host, t.config = h, c
}

var errOneConnection = errors.New("doctor: a connection dials once")

// open logs in on a connection of its own. done is told when TLS stands.
func (t *target) open(ctx context.Context, done func()) (*pgconn.PgConn, error) {
	c := t.config.Copy()
	dialled := false
	c.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		if dialled {
			return nil, errOneConnection
		}
		dialled = true
		conn := t.first
		t.first = nil
		if conn == nil {
			var d net.Dialer
			var err error
			if conn, err = d.DialContext(ctx, network, t.address); err != nil {
				return nil, err
			}
			t.sockets = append(t.sockets, conn)
		}
		if deadline, ok := ctx.Deadline(); ok {
			_ = conn.SetDeadline(deadline)
		}
		return conn, nil
	}
	c.AfterNetConnect = func(ctx context.Context, _ *pgconn.Config, conn net.Conn) (net.Conn, error) {
		if secure, ok := conn.(interface{ HandshakeContext(context.Context) error }); ok {
			if err := secure.HandshakeContext(ctx); err != nil {
				return conn, err
			}
			done()
		}
		return conn, nil
	}
	conn, err := pgconn.ConnectConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	_ = conn.Conn().SetDeadline(time.Time{})
	t.conns = append(t.conns, conn)
	return conn, nil
}

// close says goodbye, and then closes whatever is still open.
func (t *target) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, c := range t.conns {
		_ = c.Close(ctx)
	}
	for _, s := range t.sockets {
		_ = s.Close()
	}
	for _, c := range t.conns {
		select {
		case <-c.CleanupDone():
		case <-ctx.Done():
		}
	}
}
