package localpg_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/internal/localpg"
)

func query(t *testing.T, dsn, sql string) (string, error) {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.Background())
	var s string
	err = conn.QueryRow(t.Context(), sql).Scan(&s)
	return s, err
}

func TestClusterLife(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), openDir(t)
	c := start(t, localpg.Config{Dir: dir, MaxConnections: 17, Settings: map[string]string{"work_mem": "5MB"}})

	for setting, want := range map[string]string{
		"max_connections": "17", "work_mem": "5MB", "fsync": "off", "listen_addresses": "127.0.0.1",
		"server_encoding": "UTF8", "unix_socket_directories": "",
	} {
		got, err := query(t, c.SuperDSN("postgres"), "show "+setting)
		if err != nil || got != want {
			t.Errorf("%s = %q, %v; want %q", setting, got, err, want)
		}
	}
	if v, err := c.Version(ctx); err != nil || v == "" {
		t.Errorf("Version() = %q, %v", v, err)
	}

	if err := c.CreateDatabase(ctx, `odd "name"`, ""); err != nil {
		t.Fatal(err)
	}
	if err := c.Exec(ctx, `odd "name"`, "create table t (n int);\ninsert into t values (7);"); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateDatabase(ctx, "copy", `odd "name"`); err != nil {
		t.Fatal(err)
	}

	var pgErr *pgconn.PgError
	err := c.Exec(ctx, "copy", "select 1;\n-- 한글\nselect 1 +;\n")
	if !errors.As(err, &pgErr) || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("a broken script: %v, want a *pgconn.PgError that names line 3", err)
	}
	if err := c.Exec(ctx, "nowhere", "select 1"); err == nil {
		t.Error("a database that does not exist was found")
	}

	for range 3 {
		endThreads()
		if _, err := c.Version(ctx); err != nil {
			t.Fatalf("after threads ended: %v", err)
		}
	}

	port := c.Port()
	if err := c.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	if c.Port() != port {
		t.Errorf("the port changed from %d to %d", port, c.Port())
	}
	if got, err := query(t, c.SuperDSN("copy"), "select n::text from t"); err != nil || got != "7" {
		t.Errorf("after the restart n = %q, %v; want 7", got, err)
	}
	if err := c.DropDatabase(ctx, "copy"); err != nil {
		t.Error(err)
	}
	if err := c.DropDatabase(ctx, "copy"); err != nil {
		t.Errorf("dropping again: %v", err)
	}

	conn, err := pgx.Connect(ctx, c.SuperDSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for range 2 {
		if err := c.Stop(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Ping(ctx); err == nil {
		t.Error("a connection outlived the server")
	}
	if left := entries(t, dir); len(left) > 0 {
		t.Errorf("Stop left %v", left)
	}
	if conn, err := net.Dial("tcp", c.Addr()); err == nil {
		conn.Close()
		t.Error("something still listens on the port")
	}
	if err := c.Restart(ctx); err == nil {
		t.Error("Restart after Stop succeeded")
	}
}

func TestAuth(t *testing.T) {
	t.Parallel()
	for auth, refused := range map[localpg.Auth]bool{localpg.AuthSCRAM: true, localpg.AuthTrust: false} {
		t.Run(string(auth), func(t *testing.T) {
			t.Parallel()
			c := start(t, localpg.Config{Auth: auth, Password: "right"})
			if _, err := query(t, c.DSN("postgres", "right", "postgres"), "select 'x'"); err != nil {
				t.Errorf("the right password: %v", err)
			}
			_, err := query(t, c.DSN("postgres", "wrong", "postgres"), "select 'x'")
			if got := err != nil; got != refused {
				t.Errorf("a wrong password was refused = %t (%v), want %t", got, err, refused)
			}
		})
	}
}

// endThreads ends operating system threads of this process: what Linux calls the death of the parent is
// the death of the thread that forked.
func endThreads() {
	const threads = 50
	done := make(chan struct{})
	for range threads {
		go func() {
			runtime.LockOSThread() // a goroutine that ends locked takes its thread with it
			done <- struct{}{}
		}()
	}
	for range threads {
		<-done
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() }) // after the parallel subtests
	noPrograms := openDir(t)
	broken := openDir(t)
	for name, script := range map[string]string{"initdb": "echo the disk is made of cheese >&2; exit 3", "postgres": ":"} {
		if err := os.WriteFile(filepath.Join(broken, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()

	for _, tt := range []struct {
		name string
		ctx  context.Context
		cfg  localpg.Config
		want []string
	}{
		{"port taken", t.Context(), localpg.Config{Port: taken.Addr().(*net.TCPAddr).Port}, []string{"postgres did not start", "Address already in use"}},
		{"bad setting", t.Context(), localpg.Config{Settings: map[string]string{"work_mem": "lots"}}, []string{"postgres did not start", "work_mem"}},
		{"no program", t.Context(), localpg.Config{BinDir: noPrograms}, []string{"initdb did not start", "no such file"}},
		{"program fails", t.Context(), localpg.Config{BinDir: broken}, []string{"initdb did not start", "exit status 3", "made of cheese"}},
		{"canceled", canceled, localpg.Config{}, []string{"context canceled"}},
		{"every bad field", t.Context(), localpg.Config{Auth: "md4", Port: -1, MaxConnections: -2, StartTimeout: -time.Second, Settings: map[string]string{"a b": "\n"}},
			[]string{"Auth", "Port", "MaxConnections", "StartTimeout", `"a b"`, "control character"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.cfg.Dir = openDir(t)
			c, err := localpg.Start(tt.ctx, tt.cfg)
			if err == nil {
				t.Fatal(errors.Join(errors.New("Start succeeded"), c.Stop(context.Background())))
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q: %v", want, err)
				}
			}
			if left := entries(t, tt.cfg.Dir); len(left) > 0 {
				t.Errorf("the failed start left %v", left)
			}
		})
	}
}

func TestUnreachableDir(t *testing.T) {
	t.Parallel()
	closed := openDir(t)
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := localpg.Start(t.Context(), localpg.Config{Dir: closed})
	if os.Geteuid() != 0 { // then the servers run as ourselves and reach what we reach
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), "cannot reach Dir") {
		t.Errorf("Start in a closed directory: %v", err)
	}
}
