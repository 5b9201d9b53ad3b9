package direct

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// DefaultLoginRole is the name that [SetupSQL] gives the login role: hosted Supabase
// keeps "authenticator" to itself.
const DefaultLoginRole = "twinpath_login"

// SetupConfig is what [SetupSQL] makes a login role of.
type SetupConfig struct {
	// Login is the login role's name. Defaults to DefaultLoginRole.
	Login string
	// Roles are those that calls may act as. They must be there already. Defaults to
	// those of Supabase: anon, authenticated and service_role.
	Roles []string
	// Like is PostgREST's own login role, where it is in the same database: its
	// timeouts are those of roles without any, and so the new role gets them too.
	// Defaults to "authenticator". A role that isn't there is no error.
	Like string
}

// SetupSQL returns a script for psql that makes the role that connections of the
// direct path should log in as, or puts one right that is there: it can log in, may
// become the callers' roles, inherits nothing of theirs, and has no rights of its own.
//
// The script is run by a role that may create roles, on hosted Supabase postgres,
// and takes the password from psql's variable login_password:
//
//	psql "$ADMIN_URL" -v login_password="$LOGIN_PASSWORD" -f setup.sql
//
// It does everything or nothing, and may be run again. Behind Supabase's pooler the
// DSN's user is the role's name, a dot and the project's reference.
func SetupSQL(cfg SetupConfig) (string, error) {
	if cfg.Login == "" {
		cfg.Login = DefaultLoginRole
	}
	if cfg.Roles == nil {
		cfg.Roles = []string{"anon", "authenticated", "service_role"}
	}
	if cfg.Like == "" {
		cfg.Like = "authenticator"
	}
	if err := cfg.validate(); err != nil {
		return "", err
	}
	roles := make([]string, len(cfg.Roles))
	for i, r := range cfg.Roles {
		roles[i] = literal(r)
	}
	block := strings.NewReplacer(
		"{login}", literal(cfg.Login), "{roles}", strings.Join(roles, ", "), "{like}", literal(cfg.Like),
	).Replace(setupBlock)
	return strings.NewReplacer("{quote}", dollarQuote(block), "{block}", block, "{name}", pgx.Identifier{cfg.Login}.Sanitize()).Replace(setupScript), nil
}

func (c *SetupConfig) validate() error {
	var errs []error
	for _, name := range append([]string{c.Login, c.Like}, c.Roles...) {
		switch {
		case name == "" || strings.IndexByte(name, 0) >= 0:
			errs = append(errs, errors.New("SetupConfig.Login, Roles and Like must hold names: one is empty or has a zero byte"))
		case len(name) > maxName:
			errs = append(errs, fmt.Errorf("SetupConfig.Login, Roles and Like must hold names of %d bytes at most, which Postgres would cut short", maxName))
		}
	}
	if len(c.Roles) == 0 {
		errs = append(errs, errors.New("SetupConfig.Roles is empty: name those that calls may act as"))
	}
	if slices.Contains(c.Roles, c.Login) {
		errs = append(errs, errors.New("SetupConfig.Roles must not hold SetupConfig.Login: no call acts as the login role"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("direct: %w", err)
	}
	return nil
}

// maxName is how long a name is for Postgres, NAMEDATALEN less one.
const maxName = 63

// setupScript does what a DO block can't: psql puts no variable into one. What a role
// that is not superuser may not say, such as NOSUPERUSER, is looked at instead.
const setupScript = `\set ON_ERROR_STOP on
begin;

do {quote}
{block}
{quote};

alter role {name} with login noinherit password :'login_password';

commit;
`

const setupBlock = `declare
  login constant text := {login};
  wanted text;
  config text;
begin
  foreach wanted in array array[{roles}] loop
    if not exists (select from pg_catalog.pg_roles where rolname = wanted) then
      raise exception 'role % does not exist: create it, or name the others alone (SetupConfig.Roles, doctor --roles)', quote_ident(wanted);
    end if;
  end loop;

  if not exists (select from pg_catalog.pg_roles where rolname = login) then
    execute format('create role %I login noinherit', login);
  end if;
  if exists (select from pg_catalog.pg_roles where rolname = login and (rolsuper or rolbypassrls)) then
    raise exception 'role % is superuser or has BYPASSRLS: choose another name', quote_ident(login);
  end if;

  foreach wanted in array array[{roles}] loop
    if current_setting('server_version_num')::int >= 160000 then
      execute format('grant %I to %I with inherit false, set true', wanted, login);
    else
      execute format('grant %I to %I', wanted, login);
    end if;
  end loop;

  if not has_database_privilege(login, current_database(), 'connect') then
    execute format('grant connect on database %I to %I', current_database(), login);
  end if;

  for config in
    select c from pg_catalog.pg_roles, unnest(rolconfig) c
    where rolname = {like} and rolname <> login
      and split_part(c, '=', 1) in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')
  loop
    execute format('alter role %I set %I to %L', login, split_part(config, '=', 1), split_part(config, '=', 2));
  end loop;
end`

// literal quotes a text as a SQL literal, whatever standard_conforming_strings says.
func literal(text string) string {
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if strings.Contains(text, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

// dollarQuote returns a dollar quote that the text does not hold.
func dollarQuote(text string) string {
	for n := 0; ; n++ {
		if q := "$setup" + strconv.Itoa(n) + "$"; !strings.Contains(text, q) {
			return q
		}
	}
}
