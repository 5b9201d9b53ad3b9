// Package corpus runs the golden corpus: requests whose answers were recorded
// from a real PostgREST. It is the judge of parity.
//
//	cases, err := corpus.Load("testdata/golden")
//	report := corpus.Run(ctx, cases, ways...)
//	missing := report.Missing(want)
//
// Each case runs three [Way]s: replayed over HTTP against the stand-in, through
// the direct path, and through the REST path. What an answer must agree in, and
// what it need not, is in testdata/golden's description and in [Compare].
package corpus
