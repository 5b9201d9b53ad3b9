// Package rollout has the routers that decide which access path a request takes.
//
// Start with everything on one path, move a share of the users, then all:
//
//	rollout.Fixed(dbaccess.REST)
//	rollout.Percent(10, "db-access-path")
//	rollout.Fixed(dbaccess.Direct)
//
// [Percent] divides users, not requests: whoever is among the first 10 % stays
// there, and is still there at 25 %. [Switch] changes its router at run time,
// [ByQuery] sends single queries another way, and [Overridable] lets a request
// that is allowed to choose for itself. They combine, the outermost first:
//
//	flag := rollout.NewSwitch(rollout.Percent(10, "db-access-path"))
//	router := rollout.Overridable(rollout.ByQuery(map[string]dbaccess.Path{
//		"price_history": dbaccess.REST,
//	}, flag))
//
// Every router is safe for concurrent use and decides without blocking.
package rollout
