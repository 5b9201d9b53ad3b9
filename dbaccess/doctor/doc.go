// Package doctor finds out what is wrong with a connection string, a pooler, a
// PostgREST, a token's secret or a login role before users do, and says how to mend it:
//
//	report := doctor.Run(ctx, doctor.Config{
//		DirectDSN: os.Getenv("POOLER_URL"),
//		RESTURL:   os.Getenv("POSTGREST_URL"),
//		Instances: 20,
//	})
//	fmt.Print(report.Text())
//	os.Exit(report.ExitCode())
//
// Only what is given is examined. It looks from the outside in: the string itself, the
// host's addresses, TCP, TLS, the login; then who answers there (a pooler, and in which
// mode), as whom one is logged in, and what that role may do; on the other path the
// gateway, PostgREST's version and schemas, whether it takes tokens of the secret; and
// where both paths answer, whether they lead to the same database and give the same
// JSON.
//
// # What it does to the servers
//
// It reads, changes nothing, and stays below ten seconds. A login that was refused is
// not tried again, by no check and on no other string: Supavisor shuts out an address
// after a few. So startup parameters are judged by what is known of poolers and not by
// trying them. The one prepared statement that it makes is closed in the same round
// trip, and LISTEN, on the session string alone, is undone.
//
// # What it tells
//
// No password, key, token, secret or value of a row is ever part of a report, and no
// text that a server sent: a report can go into an issue. Hosts, ports, names of
// databases, roles and schemas are part of it.
package doctor
