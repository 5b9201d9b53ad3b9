package measure_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"

	"github.com/twinpath/twinpath/example-app/internal/measure"
)

// A server of its own stands for an app whose probe rest takes 20 ms and whose probe direct takes 8 ms.
func Example() {
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mode, ms := path.Base(r.URL.Path), 20
		if mode == "direct" {
			ms = 8
		}
		fmt.Fprintf(w, `{"mode":%q,"server_total_ms":%d,"queries":[],"layers_ms":{"database":%d}}`, mode, ms, ms)
	}))
	defer app.Close()

	targets, err := measure.TargetsBelow(app.URL, []string{"rest", "direct"})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := measure.Run(context.Background(), measure.Config{Targets: targets, Rounds: 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	rep := res.Report()
	fmt.Println("p50 of direct:", *rep.Modes["direct"].Warm.P50, "ms")
	fmt.Println(rep.Verdict)
	// Output:
	// p50 of direct: 8 ms
	// direct takes 0.40 times what rest takes (95 % interval 0.40 to 0.40, 20 rounds)
}
