package stack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/example-app/internal/stock"
)

const (
	maxRows = 1000 // as on Supabase

	// restStartTimeout is how long a postgrest that was started may take for its first answer.
	restStartTimeout = 20 * time.Second
	// portTries is how often a free port is looked for when others take the one found.
	portTries = 3
)

// startREST finds or starts PostgREST, or starts the stand-in, and sets the REST path's URL.
func (s *Stack) startREST(ctx context.Context) error {
	if raw := s.env("POSTGREST_URL"); raw != "" {
		return s.useREST(raw)
	}
	database, err := parseTarget("DATABASE_URL", s.admin)
	if err != nil {
		return err
	}
	dsn := database.as(s.login)
	if s.cfg.RTT > 0 { // an address of its own: the pooler's link is another
		addr, err := s.link(database.addr)
		if err != nil {
			return err
		}
		behind := database
		behind.dsn = dsn
		dsn = behind.at(addr)
	}
	var direct string
	program, err := s.cfg.LookPath("postgrest")
	if err == nil {
		direct, err = s.runPostgREST(ctx, program, dsn)
	} else {
		direct, err = s.runStandIn(dsn)
	}
	if err != nil {
		return err
	}
	s.RESTURL, err = s.linkURL(direct)
	return err
}

// useREST takes the PostgREST of POSTGREST_URL.
func (s *Stack) useREST(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil {
		return errors.New("POSTGREST_URL is no URL of a PostgREST: write it as https://host/rest/v1, without a user")
	}
	if s.cfg.RTT > 0 && u.Scheme != "http" {
		return errors.New("--rtt puts a proxy in front of POSTGREST_URL's host, which https refuses: leave one of them out")
	}
	if s.RESTURL, err = s.linkURL(raw); err != nil {
		return err
	}
	s.APIKey = s.env("POSTGREST_APIKEY")
	s.report("postgrest", "on %s, from POSTGREST_URL", u.Host)
	return nil
}

func (s *Stack) runStandIn(dsn string) (string, error) {
	srv, err := postgresttest.NewServer(postgresttest.Config{
		DSN: dsn, JWTSecret: string(s.JWTSecret), AnonRole: stock.RoleAnon,
		Schemas: []string{stock.Schema}, MaxRows: maxRows, ServerTiming: true,
	})
	if err != nil {
		return "", err
	}
	s.onClose(func(context.Context) error { return srv.Close() })
	s.StandIn = true
	s.report("postgrest", "NOTICE: stand-in on %s, because there is no POSTGREST_URL and no postgrest on PATH: its answers are PostgREST's, its speed says nothing about PostgREST's",
		strings.TrimPrefix(srv.URL, "http://"))
	return srv.URL, nil
}

// runPostgREST starts a postgrest. It is configured by its environment alone, so that no file with
// a password is left behind.
func (s *Stack) runPostgREST(ctx context.Context, program, dsn string) (string, error) {
	var err error
	for range portTries {
		var port int
		if port, err = freePort(); err != nil {
			return "", err
		}
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		var p *process
		p, err = startProcess(program, []string{
			"PGRST_DB_URI=" + dsn,
			"PGRST_DB_SCHEMAS=" + stock.Schema,
			"PGRST_DB_ANON_ROLE=" + stock.RoleAnon,
			"PGRST_DB_MAX_ROWS=" + strconv.Itoa(maxRows),
			"PGRST_JWT_SECRET=" + string(s.JWTSecret),
			"PGRST_SERVER_HOST=127.0.0.1",
			"PGRST_SERVER_PORT=" + strconv.Itoa(port),
			"PGRST_SERVER_TIMING_ENABLED=true",
			"PGRST_LOG_LEVEL=error",
		})
		if err != nil {
			return "", fmt.Errorf("start %s: %w", program, err)
		}
		var server string
		if server, err = awaitREST(ctx, "http://"+addr+"/", p); err == nil {
			s.onClose(func(context.Context) error { p.stop(); return nil })
			s.report("postgrest", "%s on %s, started here from %s", server, addr, program)
			return "http://" + addr, nil
		}
		p.stop()
		if said := p.said(dsn, s.login.password, string(s.JWTSecret)); said != "" {
			err = fmt.Errorf("%w; it said:\n\t%s", err, strings.ReplaceAll(said, "\n", "\n\t"))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return "", fmt.Errorf("%s does not start: %w", program, err)
}

// awaitREST polls until the server has read the schema, and returns its name and version.
func awaitREST(ctx context.Context, root string, p *process) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, restStartTimeout)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, root, nil)
		if err != nil {
			return "", err
		}
		if resp, err := probeClient.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode < http.StatusInternalServerError { // 503 while it reads the schema
				name, version, _ := strings.Cut(resp.Header.Get("Server"), "/")
				if name != "postgrest" || version == "" {
					return "PostgREST of unknown version", nil
				}
				return "PostgREST " + version, nil
			}
		}
		select {
		case <-p.done:
			return "", errors.New("it ended by itself")
		case <-ctx.Done():
			return "", fmt.Errorf("no answer within %s", restStartTimeout)
		case <-time.After(30 * time.Millisecond):
		}
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}
