package rollout_test

import (
	"context"
	"fmt"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/rollout"
)

func ExampleFixed() {
	d := rollout.Fixed(dbaccess.REST).Route(context.Background(), dbaccess.RouteRequest{})
	fmt.Println(d.Path, d.Reason)
	// Output: rest fixed
}

func ExamplePercent() {
	ten, all := rollout.Percent(10, "db-access-path"), rollout.Percent(100, "db-access-path")
	request := dbaccess.RouteRequest{Subject: "alice"}
	fmt.Println(ten.Route(context.Background(), request).Path)
	fmt.Println(all.Route(context.Background(), request).Path)
	// Output:
	// rest
	// direct
}

func ExampleSwitch() {
	flag := rollout.NewSwitch(rollout.Fixed(dbaccess.REST))
	fmt.Println(flag.Route(context.Background(), dbaccess.RouteRequest{}).Path)
	flag.Set(rollout.Fixed(dbaccess.Direct))
	fmt.Println(flag.Route(context.Background(), dbaccess.RouteRequest{}).Path)
	// Output:
	// rest
	// direct
}

func ExampleByQuery() {
	r := rollout.ByQuery(map[string]dbaccess.Path{"price_history": dbaccess.REST}, rollout.Fixed(dbaccess.Direct))
	d := r.Route(context.Background(), dbaccess.RouteRequest{})
	fmt.Println(r.PathFor(d, "recent_filings"))
	fmt.Println(r.PathFor(d, "price_history"))
	// Output:
	// direct fixed
	// rest by query
}

func ExampleOverridable() {
	r := rollout.Overridable(rollout.Fixed(dbaccess.REST))
	ctx := rollout.WithOverride(context.Background(), dbaccess.Direct)
	d := r.Route(ctx, dbaccess.RouteRequest{})
	fmt.Println(d.Path, d.Reason)
	// Output: direct override
}
