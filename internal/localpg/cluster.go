package localpg

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Superuser is the name of the superuser of every [Cluster].
const Superuser = "postgres"

// portTries is how often a free port is looked for when others keep taking the one found.
const portTries = 8

// killSignals ends a server without ceremony.
var killSignals = []syscall.Signal{syscall.SIGKILL}

// Cluster is a running private PostgreSQL. Its methods may be called from several goroutines.
type Cluster struct {
	cfg  Config
	dir  *workdir
	data string
	port int

	mu      sync.Mutex // guards what follows
	server  *process
	stopped bool
}

// Start makes a cluster, starts it and returns once it answers. A program that is missing is a
// [*MissingError], one that does not come up a [*StartError].
func Start(ctx context.Context, cfg Config) (_ *Cluster, err error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.BinDir == "" {
		if cfg.BinDir, err = FindPostgres(); err != nil {
			return nil, err
		}
	}
	dir, err := newWorkdir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	c := &Cluster{cfg: cfg, dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if err := c.init(ctx); err != nil {
		return nil, err
	}
	c.port, err = onFreePort(cfg.Port, func(port int) error {
		c.port = port
		return c.run(ctx)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// init makes the data directory.
func (c *Cluster) init(ctx context.Context) error {
	private, err := c.dir.private("pg")
	if err != nil {
		return err
	}
	c.data = filepath.Join(private, "data")
	pwfile := filepath.Join(private, "pw")
	if err := c.dir.write(pwfile, c.cfg.Password+"\n"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.StartTimeout)
	defer cancel()
	p, err := c.dir.start(command{
		path: filepath.Join(c.cfg.BinDir, "initdb"),
		args: []string{
			"--pgdata=" + c.data, "--username=" + Superuser, "--pwfile=" + pwfile, "--auth=" + string(c.cfg.Auth),
			"--encoding=UTF8", "--locale=" + c.cfg.Locale, "--no-sync", "--no-instructions",
		},
		orphan: syscall.SIGKILL,
	})
	if err != nil {
		return err
	}
	if err := p.wait(ctx); err != nil {
		return c.dir.failed("initdb", err)
	}
	return nil
}

// run starts the server on c.port and waits for its first answer.
func (c *Cluster) run(ctx context.Context) error {
	settings := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"port":                    strconv.Itoa(c.port),
		"unix_socket_directories": "", // TCP is all we need, and socket paths have a tight length limit
		"max_connections":         strconv.Itoa(c.cfg.MaxConnections),
		"logging_collector":       "off",
		"log_destination":         "stderr",
	}
	if !c.cfg.Durable {
		for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
			settings[name] = "off"
		}
	}
	maps.Copy(settings, c.cfg.Settings)
	args := []string{"-D", c.data}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	// At our death the server gets what it takes for an immediate shutdown: it ends its own
	// children and gives back its shared memory, which a plain kill would not.
	p, err := c.dir.start(command{path: filepath.Join(c.cfg.BinDir, "postgres"), args: args, orphan: syscall.SIGQUIT})
	if err != nil {
		return err
	}
	if err := awaitServer(ctx, c.cfg.StartTimeout, p, c.SuperDSN("postgres"), nil); err != nil {
		failed := c.dir.failed("postgres", err)
		p.end(5*time.Second, syscall.SIGQUIT, syscall.SIGKILL)
		return failed
	}
	c.server = p
	return nil
}

// awaitServer polls until the server answers a login, ends, or the time is over. hello, if set, sees the
// connection that succeeded.
func awaitServer(ctx context.Context, timeout time.Duration, p *process, dsn string, hello func(*pgconn.PgConn)) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// A server that lost its port to a silent stranger has ended, while the login waits for the stranger.
	go func() {
		select {
		case <-p.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		conn, err := connect(ctx, dsn)
		if err == nil {
			ours := p.running()
			if ours && hello != nil {
				hello(conn)
			}
			_ = conn.Close(ctx) // it was only to see that there is an answer
			if ours {
				return nil
			}
		}
		timer := time.NewTimer(20 * time.Millisecond)
		select {
		case <-ctx.Done():
		case <-timer.C:
			continue
		}
		timer.Stop()
		if p.running() {
			return errors.Join(ctx.Err(), err)
		}
		if p.err == nil {
			return errors.New("it ended by itself")
		}
		return p.err
	}
}

// onFreePort calls start with a port that was free a moment ago, and again when another process
// was faster. A port that was asked for is used as it is.
func onFreePort(port int, start func(port int) error) (int, error) {
	if port != 0 {
		return port, start(port)
	}
	for try := 1; ; try++ {
		port, err := freePort()
		if err != nil {
			return 0, err
		}
		err = start(port)
		var failed *StartError
		if err == nil || try == portTries || !errors.As(err, &failed) || !failed.portTaken() {
			return port, err
		}
	}
}

// portTaken reports whether the log says that the port was in use: both servers print the
// system's own words for it, in English since the children's locale is C.
func (e *StartError) portTaken() bool {
	return strings.Contains(e.Log, "Address already in use")
}

func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// Port returns the TCP port the cluster listens on.
func (c *Cluster) Port() int { return c.port }

// Addr returns the cluster's address, 127.0.0.1 and its port.
func (c *Cluster) Addr() string { return loopback(c.port) }

// DSN returns a connection URL for the cluster. It holds the password.
func (c *Cluster) DSN(user, password, db string) string { return dsn(c.Addr(), user, password, db) }

// SuperDSN returns a connection URL of the superuser. It holds the password.
func (c *Cluster) SuperDSN(db string) string { return c.DSN(Superuser, c.cfg.Password, db) }

// Version returns the major version of the programs in use, such as "15.18", as the server tells it.
func (c *Cluster) Version(ctx context.Context) (string, error) {
	conn, err := connect(ctx, c.SuperDSN("postgres"))
	if err != nil {
		return "", err
	}
	version := conn.ParameterStatus("server_version")
	return version, conn.Close(ctx)
}

// Restart stops the server, its clients' connections with it, and starts it again on the same port
// and data.
func (c *Cluster) Restart(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return errors.New("localpg: the cluster was stopped, which removed its data; start a new one")
	}
	c.halt(ctx)
	return c.run(ctx)
}

// Stop ends the server, its clients' connections with it, and removes its directory. It is a fast
// shutdown; a server that takes longer than 5 s, or than ctx allows, is killed. Stopping twice
// does nothing.
func (c *Cluster) Stop(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil
	}
	c.stopped = true
	c.halt(ctx)
	return c.dir.remove()
}

func (c *Cluster) halt(ctx context.Context) {
	if c.server == nil {
		return
	}
	patience := 5 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, max(0, time.Until(deadline)))
	}
	c.server.end(patience, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL)
	c.server = nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func dsn(addr, user, password, db string) string {
	u := url.URL{Scheme: "postgres", Host: addr, Path: "/" + db, RawQuery: "sslmode=disable"}
	u.User = url.User(user)
	if password != "" {
		u.User = url.UserPassword(user, password)
	}
	return u.String()
}

// randomPassword returns 26 random letters and digits: 130 bits.
func randomPassword() string { return rand.Text() }
