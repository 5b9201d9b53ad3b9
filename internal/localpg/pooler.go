package localpg

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// poolerAdmin is the user that may read PgBouncer's SHOW tables and give it commands.
const poolerAdmin = "twinpath_admin"

// Pooler is a running private PgBouncer. Its methods may be called from several goroutines.
type Pooler struct {
	cfg     PoolerConfig
	program string
	dir     *workdir
	ini     string
	port    int
	admin   string // the admin user's password

	mu      sync.Mutex // guards what follows
	server  *process
	version string
	stopped bool
}

// StartPooler starts a PgBouncer and returns once it answers. A program that is missing is a
// [*MissingError], one that does not come up a [*StartError]. That the upstream server answers is not
// checked.
func StartPooler(ctx context.Context, cfg PoolerConfig) (_ *Pooler, err error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	program := cfg.Program
	if program == "" {
		if program, err = FindPgBouncer(); err != nil {
			return nil, err
		}
	}
	dir, err := newWorkdir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	p := &Pooler{cfg: cfg, program: program, dir: dir, admin: randomPassword()}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Stop(context.WithoutCancel(ctx)))
		}
	}()
	private, err := dir.private("pgbouncer")
	if err != nil {
		return nil, err
	}
	p.ini = filepath.Join(private, "pgbouncer.ini")
	users := filepath.Join(private, "users.txt")
	if err := dir.write(users, p.userList()); err != nil {
		return nil, err
	}
	p.port, err = onFreePort(cfg.Port, func(port int) error {
		p.port = port
		if err := dir.write(p.ini, p.config(users)); err != nil {
			return err
		}
		return p.run(ctx)
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// userList is PgBouncer's auth_file: passwords in plain text, which it needs to log in upstream.
func (p *Pooler) userList() string {
	quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", quote(poolerAdmin), quote(p.admin))
	for _, user := range slices.Sorted(maps.Keys(p.cfg.Users)) {
		fmt.Fprintf(&b, "%s %s\n", quote(user), quote(p.cfg.Users[user]))
	}
	return b.String()
}

// config is the ini file.
func (p *Pooler) config(users string) string {
	host, port, _ := net.SplitHostPort(p.cfg.Upstream) // validate has seen it
	settings := map[string]string{
		"listen_addr":         "127.0.0.1",
		"listen_port":         strconv.Itoa(p.port),
		"unix_socket_dir":     "", // TCP is all we need, and socket paths have a tight length limit
		"auth_type":           string(p.cfg.Auth),
		"auth_file":           users,
		"admin_users":         poolerAdmin,
		"pool_mode":           p.cfg.PoolMode,
		"default_pool_size":   strconv.Itoa(p.cfg.PoolSize),
		"max_client_conn":     strconv.Itoa(p.cfg.MaxClients),
		"server_idle_timeout": seconds(p.cfg.ServerIdleTimeout),
		"client_idle_timeout": seconds(p.cfg.ClientIdleTimeout),
		"query_wait_timeout":  seconds(p.cfg.QueryWaitTimeout),
	}
	if len(p.cfg.IgnoreStartupParameters) > 0 {
		settings["ignore_startup_parameters"] = strings.Join(p.cfg.IgnoreStartupParameters, ",")
	}
	maps.Copy(settings, p.cfg.Settings)
	var b strings.Builder
	fmt.Fprintf(&b, "[databases]\n* = host=%s port=%s\n[pgbouncer]\n", host, port)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&b, "%s = %s\n", name, settings[name])
	}
	return b.String()
}

// seconds writes a duration as PgBouncer's settings take it; 0 switches a timeout off.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(max(0, d.Seconds()), 'f', -1, 64)
}

func (p *Pooler) run(ctx context.Context) error {
	server, err := p.dir.start(command{path: p.program, args: []string{p.ini}, orphan: syscall.SIGKILL})
	if err != nil {
		return err
	}
	err = awaitServer(ctx, p.cfg.StartTimeout, server, p.AdminDSN(), func(conn *pgconn.PgConn) {
		p.version, _, _ = strings.Cut(conn.ParameterStatus("server_version"), "/")
	})
	if err != nil {
		failed := p.dir.failed("pgbouncer", err)
		server.end(0, killSignals...)
		return failed
	}
	p.server = server
	return nil
}

// Port returns the TCP port the pooler listens on.
func (p *Pooler) Port() int { return p.port }

// Addr returns the pooler's address, 127.0.0.1 and its port.
func (p *Pooler) Addr() string { return loopback(p.port) }

// DSN returns a connection URL through the pooler. It holds the password.
func (p *Pooler) DSN(user, password, db string) string { return dsn(p.Addr(), user, password, db) }

// AdminDSN returns a connection URL for PgBouncer's console, which speaks the simple query
// protocol only. It holds the password.
func (p *Pooler) AdminDSN() string { return p.DSN(poolerAdmin, p.admin, "pgbouncer") }

// Version returns PgBouncer's version, such as "1.18.0".
func (p *Pooler) Version() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.version
}

// Show returns the rows of a SHOW command of PgBouncer's console, such as "POOLS" or "CLIENTS", by
// column name.
func (p *Pooler) Show(ctx context.Context, what string) (rows []map[string]string, err error) {
	conn, err := connect(ctx, p.AdminDSN())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	results, err := conn.Exec(ctx, "SHOW "+what).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("localpg: SHOW %s: %w", what, err)
	}
	for _, result := range results {
		for _, values := range result.Rows {
			row := make(map[string]string, len(values))
			for i, field := range result.FieldDescriptions {
				row[field.Name] = string(values[i])
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// Command gives PgBouncer's console a command, such as "PAUSE", "RESUME" or "RECONNECT".
func (p *Pooler) Command(ctx context.Context, command string) error {
	return Exec(ctx, p.AdminDSN(), command)
}

// Restart ends the pooler, all connections through it with it, and starts it again on the same port.
func (p *Pooler) Restart(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return errors.New("localpg: the pooler was stopped; start a new one")
	}
	p.halt()
	return p.run(ctx)
}

// Stop ends the pooler, all connections through it with it, and removes its directory. Stopping
// twice does nothing.
func (p *Pooler) Stop(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return nil
	}
	p.stopped = true
	p.halt()
	return p.dir.remove()
}

// halt kills the pooler: it keeps nothing that would need an orderly end, and which signal means
// "now" differs between its versions.
func (p *Pooler) halt() {
	if p.server != nil {
		p.server.end(0, killSignals...)
		p.server = nil
	}
}
