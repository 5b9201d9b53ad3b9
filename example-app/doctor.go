package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/doctor"
	"github.com/twinpath/twinpath/example-app/internal/stack"
	"github.com/twinpath/twinpath/example-app/internal/stock"
)

const doctorUsage = `Usage: example-app doctor [flags]

Examines what the environment names, and says what is wrong and how to mend it. It changes nothing, and
its report holds no password, key or token. Without an environment it examines the demo's own servers.

  --json                print the report as JSON
  --instances N         how many instances of the app may run at once
  --max-conns N         size of each one's pool, direct.Config.MaxConns (default: the string's, else 4)
  --pooler-clients N    how many clients the pooler takes, where that can't be found out
  --schema NAME         schema of the app's tables (default public)
  --roles A,B           roles that callers act as (default anon,authenticated; the script
                        of --setup-sql has service_role, too)
  --anon-role NAME      PostgREST's db-anon-role (default anon)
  --timeout DURATION    for the whole examination (default 9s)
  --setup-sql           print a psql script that makes the direct path's login role, and examine nothing
  --login NAME          the role that it makes (default ` + direct.DefaultLoginRole + `)

Environment: POOLER_URL for the direct path, else DATABASE_URL; SESSION_URL for LISTEN, else DATABASE_URL;
POOLER_ADMIN_URL for PgBouncer's console; POSTGREST_URL, POSTGREST_APIKEY, PGRST_JWT_SECRET.

Exit status: 0 when nothing is wrong, 1 for warnings alone, 2 for errors and for a mistake in the command line.
`

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	json, setupSQL bool
	login          string
	cfg            doctor.Config
	schemaGiven    bool
}

// sickError says that the doctor found something. Its code is the exit status.
type sickError struct {
	summary string
	code    int
}

func (e *sickError) Error() string { return "doctor: " + e.summary }

func parseDoctor(args []string) (doctorFlags, error) {
	var f doctorFlags
	set := flag.NewFlagSet("doctor", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.BoolVar(&f.json, "json", false, "")
	set.BoolVar(&f.setupSQL, "setup-sql", false, "")
	set.StringVar(&f.login, "login", "", "")
	set.IntVar(&f.cfg.Instances, "instances", 0, "")
	set.IntVar(&f.cfg.MaxConns, "max-conns", 0, "")
	set.IntVar(&f.cfg.PoolerClients, "pooler-clients", 0, "")
	set.StringVar(&f.cfg.Schema, "schema", doctor.DefaultSchema, "")
	set.StringVar(&f.cfg.AnonRole, "anon-role", doctor.DefaultAnonRole, "")
	roles := set.String("roles", "", "")
	set.DurationVar(&f.cfg.Timeout, "timeout", doctor.DefaultTimeout, "")
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return f, err
		}
		return f, usageError{err}
	}
	if set.NArg() > 0 {
		return f, usageError{errors.New("doctor takes flags only: connection strings, which hold passwords, come from the environment")}
	}
	if *roles != "" {
		f.cfg.Roles = strings.Split(*roles, ",")
	}
	set.Visit(func(fl *flag.Flag) { f.schemaGiven = f.schemaGiven || fl.Name == "schema" })
	if f.cfg.Instances < 0 || f.cfg.MaxConns < 0 || f.cfg.PoolerClients < 0 {
		return f, usageError{errors.New("--instances, --max-conns and --pooler-clients must not be negative")}
	}
	if f.cfg.Timeout < time.Second || f.cfg.Timeout > time.Minute {
		return f, usageError{errors.New("--timeout must be between 1s and 1m")}
	}
	return f, nil
}

// doctor examines what the environment names, or, where that is nothing, servers of the
// demo's own.
func (m *Main) doctor(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags, err := parseDoctor(args)
	if errors.Is(err, flag.ErrHelp) {
		_, err := io.WriteString(stdout, doctorUsage)
		return err
	}
	if err != nil {
		return err
	}
	if flags.setupSQL {
		return flags.writeSetup(stdout)
	}
	getenv := m.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	if !flags.fromEnvironment(getenv) {
		if _, err := fmt.Fprintln(stderr, "NOTICE: no POOLER_URL, DATABASE_URL or POSTGREST_URL: the demo's own servers are examined"); err != nil {
			return err
		}
		st, err := stack.Start(ctx, stack.Config{Getenv: getenv, LookPath: m.LookPath})
		if err != nil {
			return err
		}
		defer func() {
			stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
			defer cancel()
			err = errors.Join(err, st.Close(stopCtx))
		}()
		flags.fromStack(st)
	}
	report := doctor.Run(ctx, flags.cfg)
	if flags.json {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		err = e.Encode(report)
	} else {
		_, err = io.WriteString(stdout, report.Text())
	}
	if err == nil && report.ExitCode() != 0 {
		return &sickError{report.Summary(), report.ExitCode()}
	}
	return err
}

// fromEnvironment says whether the environment names anything.
func (f *doctorFlags) fromEnvironment(getenv func(string) string) bool {
	first := func(names ...string) string {
		for _, n := range names {
			if v := getenv(n); v != "" {
				return v
			}
		}
		return ""
	}
	c := &f.cfg
	c.DirectDSN, c.SessionDSN = first("POOLER_URL", "DATABASE_URL"), first("SESSION_URL", "DATABASE_URL")
	c.AdminDSN, c.RESTURL = getenv("POOLER_ADMIN_URL"), getenv("POSTGREST_URL")
	if c.RESTURL != "" {
		c.APIKey, c.JWTSecret = getenv("POSTGREST_APIKEY"), getenv("PGRST_JWT_SECRET")
	}
	return c.DirectDSN != "" || c.SessionDSN != "" || c.AdminDSN != "" || c.RESTURL != ""
}

// fromStack takes the demo's own servers.
func (f *doctorFlags) fromStack(st *stack.Stack) {
	c := &f.cfg
	c.DirectDSN, c.RESTURL, c.APIKey, c.JWTSecret = st.PoolerDSN, st.RESTURL, st.APIKey, string(st.JWTSecret)
	if !f.schemaGiven {
		c.Schema = stock.Schema
	}
	if len(c.Roles) == 0 {
		c.Roles = []string{stock.RoleAnon, stock.RoleAuthenticated, stock.RoleService}
	}
}

func (f *doctorFlags) writeSetup(w io.Writer) error {
	script, err := direct.SetupSQL(direct.SetupConfig{Login: f.login, Roles: f.cfg.Roles})
	if err != nil {
		return usageError{err}
	}
	_, err = io.WriteString(w, script)
	return err
}
