package latency_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/latency"
	"github.com/twinpath/twinpath/dbaccess/query"
)

func ExampleRecorder() {
	report := latency.NewRecorder(latency.RecorderConfig{})
	db, err := dbaccess.New(dbaccess.Config{
		Direct:    &backend{}, // from direct.New
		Default:   &auth.Identity{Role: "anon"},
		Observers: []dbaccess.Observer{report},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/report", report.Handler(latency.AllowLoopback))

	filings := query.From("filings").Named("recent_filings").Limit(50)
	for range 3 {
		if _, err := dbaccess.JSON(context.Background(), db, filings); err != nil {
			fmt.Println(err)
		}
	}
	for _, q := range report.Report().Queries {
		fmt.Println(q.Name, "cold:", q.Direct.Cold.N, "warm:", q.Direct.Warm.N)
		fmt.Println("enough for a median:", q.Direct.Warm.P50 != nil)
	}
	// Output:
	// recent_filings cold: 1 warm: 2
	// enough for a median: false
}

func ExamplePairedRatio() {
	// Both paths took the same request, five times: too few to say anything.
	rounds := []latency.Pair{{A: 8.2, B: 7.4}, {A: 8.9, B: 7.2}, {A: 31.0, B: 27.1}, {A: 8.1, B: 7.0}, {A: 8.4, B: 7.9}}
	_, err := latency.PairedRatio(rounds)
	fmt.Println(errors.Is(err, latency.ErrNotEnough), err)

	rounds = append(rounds, latency.Pair{A: 8.3, B: 7.1})
	ratio, err := latency.PairedRatio(rounds)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("B takes %.2f of A's time, with %.0f %% confidence between %.2f and %.2f\n", ratio.Value, 100*ratio.Confidence, ratio.Low, ratio.High)
	fmt.Println("they differ:", ratio.Excludes(1))
	// Output:
	// true not enough samples: 5 of 6
	// B takes 0.87 of A's time, with 95 % confidence between 0.81 and 0.94
	// they differ: true
}

func ExampleQuantile() {
	samples := make([]float64, 100) // ms
	for i := range samples {
		samples[i] = float64(i + 1)
	}
	fmt.Println(latency.Quantile(samples, 0.9))
	_, err := latency.Quantile(samples, 0.99)
	fmt.Println(err)
	// Output:
	// {100 90 84 96 0.95} <nil>
	// not enough samples: 100 of 368
}

func ExampleNewProbes() {
	probes, err := latency.NewProbes(latency.ProbesConfig{
		Modes: map[string]latency.Mode{
			latency.ModeREST:   {Backend: &backend{}}, // the application's, from rest.New
			latency.ModeDirect: {Backend: &backend{}}, // and from direct.New
			latency.ModeDirectPerRequest: {Open: func(context.Context) (dbaccess.Backend, error) {
				return &backend{}, nil // direct.New
			}},
		},
		Queries:   []query.Query{query.From("filings").Named("recent_filings").Limit(50)},
		Identity:  auth.Identity{Role: "anon"},
		Authorize: latency.AllowLoopback,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/api/debug/", http.StripPrefix("/api/debug", probes))
	server := httptest.NewServer(mux)
	defer server.Close()

	resp, err := http.Get(server.URL + "/api/debug/latency/direct")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	// Output: 200 OK
}

func ExampleAllowLoopback() {
	r := httptest.NewRequest(http.MethodGet, "http://app.example/debug/report", nil)
	fmt.Println(latency.AllowLoopback(r))
	// Output: false
}
