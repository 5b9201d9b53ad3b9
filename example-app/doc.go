// The example-app is a stock-market site that reads one Postgres over both access paths and shows
// where each request's time goes.
//
//	go run ./example-app
//
// finds or starts everything it needs, prints what it found and the address of the page. It needs no
// account and leaves nothing behind: PostgreSQL's server programs have to be installed (Debian:
// apt-get install postgresql, and pgbouncer for the pooler; macOS: brew install postgresql pgbouncer).
//
// # Usage
//
//	example-app [serve] [flags]
//
//	--addr 127.0.0.1:8080     where to listen. Without the flag, the next free port from 8080 on
//	--access-path percent:50  rest, direct, or the share of the users that goes direct; the page changes it
//	--rtt 0                   such as 5ms: added to every round trip between app, PostgREST, pooler and Postgres
//	--naive-idle 10s          idle limit of the mode direct-naive-pool, see below
//
//	example-app measure [flags] [address...]
//
// compares the modes below in paired rounds, in a running app or in a demo of its own, and says which is
// faster and where the time goes; measure --help lists its flags, and package example-app/internal/measure
// describes what it prints. Its exit status is 0 when it has measured, 1 when nothing could be, 2 for a
// usage error, and 130 after Ctrl-C, which prints what there is.
//
//	example-app doctor [flags]
//
// examines POOLER_URL, DATABASE_URL and POSTGREST_URL, and says what is wrong and how to mend it; doctor
// --help lists its flags. Its exit status is 0 when nothing is wrong, 1 for warnings and 2 for errors.
//
// Exit status of serve: 0 after Ctrl-C or SIGTERM, 1 when something failed, 2 for a usage error.
//
// # Instruments
//
// Below /api/debug, for requests from the same machine alone; for all others there is nothing there:
//
//	report                 histograms by query and path, cold and warm; ?format=json
//	latency/{mode}         runs the page's queries and tells where the time went; the modes are rest, direct,
//	                       direct-per-request (connects each time) and direct-naive-pool (pgxpool's defaults
//	                       with an idle limit of 10 s, or --naive-idle)
//	health/app             makes no database call
//	health/db?path={mode}  makes one: the difference is the cost of access
//	traces                 what /traces draws
//
// # Environment
//
//	DATABASE_URL      use this Postgres instead of a private one. The login must be a superuser, or be allowed
//	                  to create roles and schemas. The demo makes the schema twinpath_demo, the login role
//	                  twinpath_demo_login and, where they are missing, the roles anon, authenticated and
//	                  service_role and the functions auth.uid() and auth.jwt(); it changes nothing else, and
//	                  refuses a schema of that name that it didn't make
//	POOLER_URL        use this transaction pooler, with the login in it
//	POSTGREST_URL     use this PostgREST; it must expose the schema twinpath_demo
//	PGRST_JWT_SECRET  its jwt-secret
//	POSTGREST_APIKEY  the key that a gateway in front of it asks for
//	PG*               fill in what DATABASE_URL leaves out; without it they are ignored
//	SENTRY_DSN        send transactions there. Without it they go to a Spotlight sidecar, should one answer
//	                  on port 8969, and in any case to the site's own page /traces
package main
