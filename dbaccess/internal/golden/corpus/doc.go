// Package corpus runs the golden corpus: requests whose answers were recorded
// from a real PostgREST. It is the judge of parity.
//
//	cases, err := corpus.Load("testdata/golden")
//	rig, err := corpus.NewRig(cases, corpus.RigConfig{DirectDSN: …, PoolerDSN: …})
//	report := corpus.Run(ctx, cases, rig.Ways...)
//	missing := report.Missing(want)
//
// Each case runs three [Way]s: replayed over HTTP against the stand-in, through
// the direct path, and through the REST path. [Compare] says in what an answer
// must agree.
//
// # How the answers were recorded
//
// PostgREST 14.17, and 16.2 with the same answers, served the database that
// testdata/golden/fixture.sql makes on PostgreSQL 15, with these settings and
// defaults otherwise:
//
//	db-uri        = "postgres://authenticator:authenticator@…"
//	db-schemas    = "public, private_api"
//	db-anon-role  = "anon"
//	db-tx-end     = "commit-allow-override"
//	jwt-secret    = "golden-corpus-jwt-secret-at-least-32-bytes!"
package corpus
