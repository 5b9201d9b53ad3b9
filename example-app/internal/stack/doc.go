// Package stack finds or starts what the demo runs on: Postgres, a transaction pooler and
// PostgREST.
//
//	s, err := stack.Start(ctx, stack.Config{Getenv: os.Getenv, Report: print})
//	if err != nil { … }
//	defer s.Close(context.Background())
//	// s.PoolerDSN is the direct path's, s.RESTURL the REST path's
//
// What the environment names is used as it is and never stopped:
//
//	DATABASE_URL     Postgres, as a superuser or a role that may create roles and schemas.
//	                 The data goes into a schema of its own.
//	POOLER_URL       a transaction pooler in front of it, with the login that the direct path is to use
//	POSTGREST_URL    PostgREST on the same database. It must expose the demo's schema
//	PGRST_JWT_SECRET its jwt-secret, required then; else the secret of the tokens that the demo mints
//	POSTGREST_APIKEY the key that a gateway in front of it asks for, if one does
//
// Anything else is started on loopback ports that are free, and is gone when the stack is closed or
// its process dies: a private Postgres, PgBouncer in transaction mode, and the postgrest found on
// PATH. Without PgBouncer the direct path goes to Postgres itself, without postgrest an in-process
// stand-in answers; a notice says so.
package stack
