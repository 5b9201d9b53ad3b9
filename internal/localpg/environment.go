package localpg

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// ClearEnvironment takes the variables of Postgres's clients (PGHOST, PGOPTIONS,
// PGTZ and the like) out of this process's environment. It is for the start of
// programs and test binaries whose servers are all private: pgx reads the
// variables for whatever a connection string leaves out, so that PGTZ in
// somebody's profile would change what a query returns.
//
// It must not run beside others that use the environment.
func ClearEnvironment() error {
	var errs []error
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); isClientVariable(name) {
			errs = append(errs, os.Unsetenv(name))
		}
	}
	return errors.Join(errs...)
}

// isClientVariable says whether libpq, or pgx, may read a variable: they get new
// ones with every version. Those of PostgREST begin with the same letters.
func isClientVariable(name string) bool {
	return strings.HasPrefix(name, "PG") && !strings.HasPrefix(name, "PGRST_")
}

// keyword is what a variable stands for in a connection string, and the value that
// means the same as no variable.
type keyword struct{ name, unset string }

// keywords are the variables that pgx reads, but PGSERVICE.
// Source: https://pkg.go.dev/github.com/jackc/pgx/v5/pgconn#ParseConfig
func keywords() map[string]keyword {
	return map[string]keyword{
		"PGHOST": {"host", ""}, "PGPORT": {"port", "5432"}, "PGDATABASE": {"dbname", ""},
		"PGUSER": {"user", ""}, "PGPASSWORD": {"password", ""}, "PGPASSFILE": {"passfile", ""},
		"PGAPPNAME": {"application_name", ""}, "PGTZ": {"timezone", ""}, "PGOPTIONS": {"options", ""},
		"PGCONNECT_TIMEOUT": {"connect_timeout", "0"}, "PGTARGETSESSIONATTRS": {"target_session_attrs", "any"},
		"PGSSLMODE": {"sslmode", "prefer"}, "PGSSLKEY": {"sslkey", ""}, "PGSSLCERT": {"sslcert", ""},
		"PGSSLCERTMODE": {"sslcertmode", "allow"}, "PGSSLSNI": {"sslsni", "1"}, "PGSSLROOTCERT": {"sslrootcert", ""},
		"PGSSLPASSWORD": {"sslpassword", ""}, "PGSSLNEGOTIATION": {"sslnegotiation", ""},
		"PGMINPROTOCOLVERSION": {"min_protocol_version", "3.0"}, "PGMAXPROTOCOLVERSION": {"max_protocol_version", "3.0"},
		"PGCHANNELBINDING": {"channel_binding", "prefer"}, "PGREQUIREAUTH": {"require_auth", ""},
		"PGSERVICEFILE": {"servicefile", ""},
	}
}

// noService is a service file with a service that says nothing: there is no value
// of the keyword that stands for none.
const noService = "[none]\n"

// parseAlone reads a DSN as if there were no PG* variables. pgx reads a variable
// only where the string lacks its keyword, so the string gets those of all that
// are set.
func parseAlone(dsn string) (_ *pgconn.Config, err error) {
	given := map[string]string{}
	for variable, k := range keywords() {
		if _, set := os.LookupEnv(variable); set {
			given[k.name] = k.unset
		}
	}
	if os.Getenv("PGSERVICE") != "" {
		file, createErr := os.CreateTemp("", "twinpath-no-service-")
		if createErr != nil {
			return nil, createErr
		}
		defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
		_, writeErr := file.WriteString(noService)
		if err := errors.Join(writeErr, file.Close()); err != nil {
			return nil, err
		}
		given["service"], given["servicefile"] = "none", file.Name()
	}
	full, err := filledIn(dsn, given)
	if err != nil {
		return nil, err
	}
	cfg, err := pgconn.ParseConfig(full)
	if err != nil {
		return nil, fmt.Errorf("localpg: %w", err) // pgx hides the password
	}
	maps.DeleteFunc(cfg.RuntimeParams, func(_, value string) bool { return value == "" })
	return cfg, nil
}

// filledIn returns the DSN with those of the given keywords that it lacks.
func filledIn(dsn string, given map[string]string) (string, error) {
	if len(given) == 0 {
		return dsn, nil
	}
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		var b strings.Builder // a later one replaces an earlier one
		for _, key := range slices.Sorted(maps.Keys(given)) {
			b.WriteString(key + "='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(given[key]) + "' ")
		}
		return b.String() + dsn, nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", errors.New("localpg: the DSN is no URL") // without the URL, which holds a password
	}
	q := u.Query()
	_, hasPassword := u.User.Password()
	for key, has := range map[string]bool{
		"host": u.Host != "" && !strings.HasPrefix(u.Host, ":"), "port": u.Port() != "", "user": u.User.Username() != "", "password": hasPassword,
		"dbname":  strings.Trim(u.Path, "/") != "" || q.Has("database"),
		"sslmode": q.Has("ssl"),
	} {
		if has {
			delete(given, key)
		}
	}
	for key, value := range given {
		if !q.Has(key) {
			q.Set(key, value)
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}
