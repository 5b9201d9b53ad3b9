// Package postgresttest has an in-process stand-in for PostgREST, in the manner
// of net/http/httptest, for tests and for the demo:
//
//	srv, err := postgresttest.NewServer(postgresttest.Config{
//		DSN:       "postgres://authenticator:…@localhost/app",
//		JWTSecret: secret,
//	})
//	if err != nil { … }
//	defer srv.Close()
//	restPath, err := rest.New(rest.Config{URL: srv.URL})
//
// # What it does
//
// It reads requests as PostgREST 14 does, runs them on a real Postgres as the
// role that the token names, and answers with PostgREST's statuses, headers,
// bodies and errors; the golden corpus of this repository, recorded from a real
// PostgREST, is its judge. Each request makes the four trips to the database
// that PostgREST makes, one after the other: BEGIN, one SELECT of set_config,
// the query, COMMIT. The settings of the role that it acts as (ALTER ROLE … SET)
// and of the function that it calls apply, as do all of PostgREST's preferences.
//
// # What it does not do
//
// It is a test double: nobody has hardened it for the internet, and its speed
// says nothing about PostgREST's. Other formats than JSON, OPTIONS and the OpenAPI
// description at the root are answered with status 501 and an error that names the
// feature. The words of parse errors (PGRST100) are its own. The schema, roles'
// settings and time zones are read once, at the first request, and again after
// [Server.ReloadSchema].
package postgresttest
