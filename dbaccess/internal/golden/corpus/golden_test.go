package corpus_test

import (
	"context"
	"os"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/internal/golden/corpus"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

func testdata(t *testing.T, name string) string {
	t.Helper()
	file, err := pgtest.File("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Every case that testdata/golden.want lists passes. "make golden" runs the same,
// and says more.
func TestGolden(t *testing.T) {
	t.Parallel()
	cases, err := corpus.Load(testdata(t, "golden"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := corpus.ReadWant(testdata(t, "golden.want"))
	if err != nil {
		t.Fatal(err)
	}
	db := pgtest.Golden(t)
	rig, err := corpus.NewRig(cases, corpus.RigConfig{
		DirectDSN: db.DirectDSN, PoolerDSN: db.PoolerDSN, PostgRESTURL: os.Getenv("POSTGREST_URL"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rig.Close(context.Background()); err != nil {
			t.Errorf("close the rig: %v", err)
		}
	})
	report := corpus.Run(t.Context(), cases, rig.Ways...)
	for _, w := range rig.Ways {
		t.Logf("golden %s %d/%d", w.Name(), len(report.Passed(w.Name())), len(report.Cases))
		if len(want[w.Name()]) == 0 {
			t.Errorf("no case is wanted on %s", w.Name())
		}
	}
	for _, m := range report.Missing(want) {
		t.Error(m)
	}
}
