package secrets_test

import (
	"reflect"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/doctor"
	"github.com/twinpath/twinpath/dbaccess/latency"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
	"github.com/twinpath/twinpath/middleware"
)

// decision is what somebody has found out about a type.
type decision struct {
	typ       reflect.Type // nil for one whose fields are all public
	byPointer bool         // nobody has a copy
	public    []string     // fields that hold no secret, and may be shown
	carries   bool         // it is data, and prints as such
}

// hides is a type that keeps the secrets in it when it is printed. Names of tables,
// columns, functions, roles and queries are none.
func hides[T any](public ...string) decision {
	return decision{typ: reflect.TypeFor[T](), public: public}
}

// hidesBehindPointer is hides for a type that is handed around by pointer alone.
func hidesBehindPointer[T any](public ...string) decision {
	return decision{typ: reflect.TypeFor[T](), public: public, byPointer: true}
}

// harmless is a type that holds no secret; why says so.
func harmless(string) decision { return decision{} }

// members are what fields of interface types may hold.
var members = []reflect.Type{
	reflect.TypeFor[query.Compare](), reflect.TypeFor[query.Field](),
	reflect.TypeFor[*direct.Backend](), reflect.TypeFor[*jwt.HS256](),
}

// decided has every exported struct type that applications can import.
var decided = map[string]decision{
	"dbaccess.Call":             hides[dbaccess.Call](),
	"dbaccess.CallEnd":          hides[dbaccess.CallEnd]("Phases", "Conn", "Err"),
	"dbaccess.CallStart":        hides[dbaccess.CallStart]("Verb", "Name", "Route", "Role"),
	"dbaccess.Config":           hides[dbaccess.Config]("ForwardHeaders"),
	"dbaccess.DB":               hidesBehindPointer[dbaccess.DB](),
	"dbaccess.Decision":         harmless("how a request is routed, for spans to show"),
	"dbaccess.Error":            hides[dbaccess.Error]("Path", "Op", "Query", "Code", "SQLState", "Advice", "Kind"),
	"dbaccess.Phase":            harmless("names of phases are this module's own"),
	"dbaccess.PoolStats":        harmless("numbers"),
	"dbaccess.Result":           hides[dbaccess.Result]("Phases", "Conn"),
	"dbaccess.RouteRequest":     hides[dbaccess.RouteRequest]("Query"),
	"dbaccess.Routed":           harmless("how a call is routed, for spans to show"),
	"dbaccess.SQL":              harmless("a verb and the name of a table"),
	"dbaccess.ServerText":       hides[dbaccess.ServerText](),
	"dbaccess.TransactionScope": hidesBehindPointer[dbaccess.TransactionScope](),

	"auth.ClaimPath":        harmless("names of members"),
	"auth.Identity":         hides[auth.Identity]("Role"),
	"auth.TokenError":       harmless("the words of a refusal are this module's own, as PostgREST answers them"),
	"auth.UnavailableError": harmless("the words are this module's own, and Err is one of two of package context"),
	"jwt.Config":            hides[jwt.Config](),
	"jwt.HS256":             hidesBehindPointer[jwt.HS256](),
	"jwt.JWKS":              hidesBehindPointer[jwt.JWKS](),
	"jwt.JWKSConfig":        hides[jwt.JWKSConfig](),
	"jwt.Signer":            hidesBehindPointer[jwt.Signer](),
	"jwt.SignerConfig":      hides[jwt.SignerConfig](),
	"direct.Backend":        hidesBehindPointer[direct.Backend](),
	"direct.Config":         hides[direct.Config](),
	"direct.DSN":            harmless("made to be shown: host, user and database, no password"),
	"direct.DSNHost":        harmless("made to be shown: a host's name and port"),
	"direct.DSNNote":        harmless("made to be shown: the name of a parameter, without its value"),
	"direct.SetupConfig":    harmless("names of roles"),
	"direct.TxOptions":      harmless("a name, and how a transaction is run"),
	"doctor.Config":         hides[doctor.Config](),
	"doctor.Finding":        harmless("made to be shown, in words of this module's own"),
	"doctor.Report":         harmless("made to be shown"),
	"rest.Backend":          hidesBehindPointer[rest.Backend](),
	"rest.Config":           hides[rest.Config](),
	"rest.GatewayError":     hidesBehindPointer[rest.GatewayError](),
	"postgresttest.Config":  hides[postgresttest.Config](),
	"postgresttest.Handler": hidesBehindPointer[postgresttest.Handler](),
	"postgresttest.Server":  hidesBehindPointer[postgresttest.Server]("URL"),

	"query.CallArgs":         hides[query.CallArgs]("Type", "Columns"),
	"query.Compare":          hides[query.Compare]("Column", "Op", "Config"),
	"query.Embed":            hides[query.Embed]("Relation", "Hint", "Alias", "OrderBy"),
	"query.Every":            harmless("no fields"),
	"query.Field":            harmless("names of columns"),
	"query.InList":           hides[query.InList]("Column"),
	"query.Is":               harmless("a column, and one of a few words"),
	"query.Logic":            hides[query.Logic]("Connective"),
	"query.Negation":         hides[query.Negation](),
	"query.Order":            harmless("names of columns"),
	"query.Path":             harmless("names of columns and of members"),
	"query.Query":            hides[query.Query](),
	"query.Spec":             hides[query.Spec]("Name", "Schema", "From", "OrderBy", "TimeZone"),
	"query.Star":             harmless("no fields"),
	"query.Step":             harmless("the name of a member"),
	"query.TextArg":          hides[query.TextArg]("Name"),
	"query.UnsupportedError": harmless("names and this module's own words"),
	"query.Write":            hides[query.Write]("Columns", "ConflictOn"),

	"dbprom.Collector":              harmless("numbers by the names of queries"),
	"dbprom.Config":                 harmless("names, and pools that print by themselves"),
	"latency.HealthResult":          harmless("made to be shown: names and numbers"),
	"latency.Mode":                  hides[latency.Mode]("Path"),
	"latency.PathReport":            harmless("numbers"),
	"latency.ProbeResult":           harmless("made to be shown: names and numbers"),
	"latency.Probes":                hidesBehindPointer[latency.Probes]("cfg", "modes", "names"),
	"latency.ProbesConfig":          hides[latency.ProbesConfig]("Modes"),
	"latency.QueryReport":           harmless("the name of a query, and numbers"),
	"latency.QueryResult":           harmless("made to be shown: names and numbers"),
	"latency.Recorder":              harmless("numbers by the names of queries"),
	"latency.Report":                harmless("numbers by the names of queries"),
	"latency.Series":                harmless("numbers"),
	"middleware.AccessPathConfig":   hides[middleware.AccessPathConfig]("Header"),
	"middleware.ErrorsConfig":       harmless("functions"),
	"middleware.IdentityConfig":     hides[middleware.IdentityConfig](),
	"middleware.SentryConfig":       harmless("functions and numbers"),
	"middleware.ServerTimingConfig": harmless("functions"),
	"rollout.Switch":                harmless("the name of a flag and a percentage"),
	"tracing.Metrics":               harmless("numbers by the names of queries"),
	"tracing.MetricsConfig":         harmless("names, and pools that print by themselves"),
	"tracing.Observer":              harmless("how much of a call is shown"),
	"tracing.TraceHeaders":          harmless("what Sentry's headers say"),
	"tracing.Transaction":           harmless("a span, which Sentry is shown"),
}
