// Package localpg starts a private PostgreSQL cluster, and a PgBouncer in front of it, on
// loopback ports that were free a moment ago. The demo and the tests run on it, so neither needs
// an account, a container or a server set up beforehand, only the server programs.
//
//	cluster, err := localpg.Start(ctx, localpg.Config{})
//	if err != nil { … }                    // says what to install when a program is missing
//	defer cluster.Stop(context.Background())
//	err = cluster.CreateDatabase(ctx, "shop", "")
//	pooler, err := localpg.StartPooler(ctx, localpg.PoolerConfig{
//		Upstream: cluster.Addr(),
//		Users:    map[string]string{"app": "secret"},
//	})
//	defer pooler.Stop(context.Background())
//	dsn := pooler.DSN("app", "secret", "shop")
//
// # What it takes care of
//
// PostgreSQL and PgBouncer refuse to run as root, so a root process runs them as the user
// "postgres", else "nobody"; any other process runs them as itself.
//
// Nothing outlives its parent. [Cluster.Stop] and [Pooler.Stop] end the servers and remove their
// directory. When the parent is killed instead, Linux ends its servers at once (a parent-death
// signal), and the next [Start], [StartPooler] or [Sweep] removes the directory it left behind;
// on other Unix systems the same sweep ends the servers too. A directory belongs to whoever holds
// the lock on the file "owner" in it, which the kernel releases with its process, so neither
// a reused process id nor a restart of the machine can make a dead owner look alive.
//
// The clusters are for throw-away data: unless [Config.Durable] is set, nothing is flushed to
// disk and a crash of the machine loses the database.
//
// Tests use the package pgtest below this one, which shares one cluster per test binary.
package localpg
