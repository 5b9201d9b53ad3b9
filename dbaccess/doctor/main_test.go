package doctor_test

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twinpath/twinpath/dbaccess/doctor"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

const secret = "a secret of at least thirty-two bytes, canary"

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// standIn serves the database as PostgREST does.
func standIn(tb testing.TB, cfg postgresttest.Config) string {
	tb.Helper()
	if cfg.JWTSecret == "" {
		cfg.JWTSecret = secret
	}
	srv, err := postgresttest.NewServer(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := srv.Close(); err != nil {
			tb.Error(err)
		}
	})
	return srv.URL
}

// find returns the findings of a check.
func find(r doctor.Report, id string) []doctor.Finding {
	var found []doctor.Finding
	for _, f := range r.Findings {
		if f.ID == id {
			found = append(found, f)
		}
	}
	return found
}

// wantFinding checks that a check found something of the severity whose text, reason or
// mend holds all of the words.
func wantFinding(tb testing.TB, r doctor.Report, id string, s doctor.Severity, words ...string) {
	tb.Helper()
	for _, f := range find(r, id) {
		text := f.What + "\n" + f.Why + "\n" + f.Mend
		ok := f.Severity == s
		for _, w := range words {
			ok = ok && strings.Contains(text, w)
		}
		if ok {
			return
		}
	}
	tb.Errorf("no %s of %s with %q:\n%s", s, id, words, r.Text())
}

func wantNone(tb testing.TB, r doctor.Report, ids ...string) {
	tb.Helper()
	for _, id := range ids {
		if found := find(r, id); len(found) > 0 {
			tb.Errorf("%s was examined: %+v", id, found)
		}
	}
}

// checkNoSecret looks for secrets in every form of a report.
func checkNoSecret(tb testing.TB, r doctor.Report, secrets ...string) {
	tb.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		tb.Fatal(err)
	}
	for _, s := range secrets {
		if strings.Contains(r.Text(), s) || strings.Contains(string(b), s) {
			tb.Errorf("the report holds %q:\n%s", s, r.Text())
		}
	}
}

var numbers = regexp.MustCompile(`\([0-9.]+ ms\)`)

// masked returns a report's text without times and ports.
func masked(r doctor.Report, replacements ...string) string {
	text := numbers.ReplaceAllString(r.Text(), "(N ms)")
	return strings.NewReplacer(replacements...).Replace(text)
}

// scalar runs a query that returns one text.
func scalar(tb testing.TB, dsn, sql string) string {
	tb.Helper()
	conn, err := pgconn.Connect(tb.Context(), dsn)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close(context.Background())
	res, err := conn.Exec(tb.Context(), sql).ReadAll()
	if err != nil || len(res) != 1 || len(res[0].Rows) != 1 {
		tb.Fatalf("%s: %v", sql, err)
	}
	return string(res[0].Rows[0][0])
}

// run examines, with time enough for a machine that is busy.
func run(tb testing.TB, cfg doctor.Config) doctor.Report {
	tb.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout = 2 * time.Minute
	}
	return doctor.Run(tb.Context(), cfg)
}
