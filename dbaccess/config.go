package dbaccess

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/twinpath/twinpath/dbaccess/auth"
)

// DefaultMaxRows is the row limit of hosted Supabase.
const DefaultMaxRows = 1000

// Config makes a [DB].
type Config struct {
	// REST is the path through PostgREST, from package rest. Optional where
	// Direct is set, which then serves every call, with a reason.
	REST Backend
	// Direct is the path straight to Postgres, from package direct. Optional
	// where REST is set, which then serves every call, with a reason.
	Direct Backend
	// Router picks the path of each request. Defaults to REST for all, or to
	// Direct where there is no REST.
	Router Router
	// Default is who a call acts as whose context has no identity. Defaults to
	// none: such calls fail with ErrNoIdentity.
	Default *auth.Identity
	// Service is who a call acts as whose context auth.AsService has marked: the
	// application itself, past the rights of whoever made the request. On the REST
	// path it needs its Token, or a Signer. Defaults to none: such calls fail with
	// ErrNoService.
	Service *auth.Identity
	// ForwardHeaders names headers of the application's own requests that row-level
	// policies and functions may read, in request.headers and, for "Cookie", in
	// request.cookies: see WithRequestHeaders. What they hold is the caller's to
	// choose, so a policy must not take it for proof of anything. Headers that the REST
	// path sets itself, or that belong to a connection, are refused by New. Defaults
	// to none.
	ForwardHeaders []string
	// MaxRows is the number of rows at which a list is taken to be cut short and
	// fails with ErrTruncated; it should be PostgREST's db-max-rows. Defaults to
	// DefaultMaxRows; -1 means no limit.
	MaxRows int
	// NullAsZero decodes NULL into Go values that can't hold it as their zero
	// value, as encoding/json does. Defaults to an error.
	NullAsZero bool
	// Observers are told about every call. Defaults to none.
	Observers []Observer
	// Logger gets what concerns no single call. Defaults to slog.Default.
	Logger *slog.Logger

	now func() time.Time
}

// WithDefaults returns the config with every default filled in.
func (c Config) WithDefaults() Config {
	if c.MaxRows == 0 {
		c.MaxRows = DefaultMaxRows
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Router == nil {
		c.Router = defaultRouter{path: REST}
		if c.REST == nil {
			c.Router = defaultRouter{path: Direct}
		}
	}
	if c.now == nil {
		c.now = time.Now
	}
	return c
}

func (c Config) validate() error {
	var errs []error
	if c.REST == nil && c.Direct == nil {
		errs = append(errs, errors.New("Config.REST and Config.Direct are both nil: set at least one, from rest.New or direct.New"))
	}
	for field, b := range map[string]Backend{"Config.REST": c.REST, "Config.Direct": c.Direct} {
		if v := reflect.ValueOf(b); v.Kind() == reflect.Pointer && v.IsNil() {
			errs = append(errs, fmt.Errorf("%s is a nil %T: leave the field out instead", field, b))
		}
	}
	if c.MaxRows < -1 {
		errs = append(errs, errors.New("Config.MaxRows must be positive, 0 for the default or -1 for no limit"))
	}
	for _, f := range []struct {
		name string
		id   *auth.Identity
	}{{"Config.Default", c.Default}, {"Config.Service", c.Service}} {
		if f.id == nil {
			continue
		}
		if err := f.id.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.name, err))
		}
	}
	if _, err := forwardHeaders(c.ForwardHeaders); err != nil {
		errs = append(errs, err)
	}
	for i, o := range c.Observers {
		if o == nil {
			errs = append(errs, fmt.Errorf("Config.Observers[%d] is nil", i))
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("dbaccess: %w", errors.Join(errs...))
	}
	return nil
}

// Format prints which paths there are: backends know secrets.
func (c Config) Format(s fmt.State, _ rune) {
	_, _ = fmt.Fprintf(s, "dbaccess.Config{REST: %t, Direct: %t}", c.REST != nil, c.Direct != nil)
}
