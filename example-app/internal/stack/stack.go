package stack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"time"

	"github.com/twinpath/twinpath/example-app/internal/stock"
	"github.com/twinpath/twinpath/internal/localpg"
)

// Config says what to look for. The zero value is not useful: Getenv is required.
type Config struct {
	// Getenv looks up the environment, as os.Getenv does. Required.
	Getenv func(string) string
	// LookPath finds the postgrest program. Defaults to exec.LookPath.
	LookPath func(string) (string, error)
	// FindPooler finds the pgbouncer program. Defaults to localpg.FindPgBouncer.
	FindPooler func() (string, error)
	// RTT is added to every round trip on every link. Defaults to 0, nothing in between.
	RTT time.Duration
	// Report is told about each part as it is found or started. Defaults to nobody.
	Report func(Part)
}

// Part is something the demo runs on.
type Part struct {
	Name string // postgres, pooler, postgrest, links
	Text string // what it is and where, in one line, without credentials
}

// Stack is what the demo runs on. Its fields are set by [Start].
type Stack struct {
	PoolerDSN string // the direct path's: a login without rights of its own. It holds a password
	Pooled    bool   // PoolerDSN leads to a pooler, not to Postgres itself

	RESTURL string // PostgREST's root
	APIKey  string // for the gateway in front of it, if any
	StandIn bool   // the REST path is answered by the stand-in

	JWTSecret []byte // what signs and verifies bearer tokens

	cfg   Config
	admin string // DSN to load the data with
	login login
	stops []func(context.Context) error
}

// login is the role that both paths' connections log in as.
type login struct{ user, password string }

// Start finds or starts everything. When it fails it has stopped what it had started.
func Start(ctx context.Context, cfg Config) (_ *Stack, err error) {
	if cfg.LookPath == nil {
		cfg.LookPath = exec.LookPath
	}
	if cfg.FindPooler == nil {
		cfg.FindPooler = localpg.FindPgBouncer
	}
	if cfg.Report == nil {
		cfg.Report = func(Part) {}
	}
	s := &Stack{cfg: cfg}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(context.WithoutCancel(ctx)))
		}
	}()
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := s.startPostgres(ctx); err != nil {
		return nil, err
	}
	if err := s.startPooler(ctx); err != nil {
		return nil, err
	}
	if err := s.startREST(ctx); err != nil {
		return nil, err
	}
	if cfg.RTT > 0 {
		s.report("links", "%s added to each round trip between app and PostgREST, PostgREST and Postgres, app and pooler, pooler and Postgres", cfg.RTT)
	}
	return s, nil
}

// check finds what the environment got wrong before anything is started.
func (s *Stack) check() error {
	database, pooler, rest := s.env("DATABASE_URL"), s.env("POOLER_URL"), s.env("POSTGREST_URL")
	var errs []error
	if database == "" && pooler != "" {
		errs = append(errs, errors.New("POOLER_URL is set without DATABASE_URL: the demo loads its data through the latter"))
	}
	if database == "" && rest != "" {
		errs = append(errs, errors.New("POSTGREST_URL is set without DATABASE_URL: both must lead to the same database"))
	}
	secret := s.env("PGRST_JWT_SECRET")
	switch {
	case secret == "" && rest != "":
		errs = append(errs, errors.New("POSTGREST_URL is set without PGRST_JWT_SECRET: set it to that PostgREST's jwt-secret, so that the demo's users can sign in"))
	case secret != "" && len(secret) < 32:
		errs = append(errs, errors.New("PGRST_JWT_SECRET is shorter than the 32 bytes that PostgREST demands"))
	case secret == "":
		secret = rand.Text() + rand.Text()
	}
	s.JWTSecret = []byte(secret)
	if s.cfg.RTT < 0 {
		errs = append(errs, errors.New("the round trip to add is negative"))
	}
	return errors.Join(errs...)
}

func (s *Stack) env(name string) string { return s.cfg.Getenv(name) }

func (s *Stack) report(name, format string, args ...any) {
	s.cfg.Report(Part{Name: name, Text: fmt.Sprintf(format, args...)})
}

// onClose registers what Close has to do, the last one first.
func (s *Stack) onClose(stop func(context.Context) error) { s.stops = append(s.stops, stop) }

// Close stops what Start started, in the opposite order, and returns when it is gone. Closing again
// does nothing.
func (s *Stack) Close(ctx context.Context) error {
	var errs []error
	for _, stop := range slices.Backward(s.stops) {
		errs = append(errs, stop(ctx))
	}
	s.stops = nil
	return errors.Join(errs...)
}

// roles are those that a login needs to be able to become.
func (s *Stack) roles() []string {
	roles := []string{stock.RoleAnon, stock.RoleAuthenticated}
	if s.env("DATABASE_URL") == "" {
		roles = append(roles, stock.RoleService) // as on Supabase; in a database that isn't ours the demo asks for less
	}
	return roles
}

// probeClient asks local servers whether they are up.
var probeClient = &http.Client{Timeout: 2 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
