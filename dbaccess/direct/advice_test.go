package direct_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/auth"
	"github.com/twinpath/twinpath/dbaccess/auth/jwt"
	"github.com/twinpath/twinpath/dbaccess/direct"
	"github.com/twinpath/twinpath/dbaccess/internal/advice"
	"github.com/twinpath/twinpath/dbaccess/postgresttest"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
	"github.com/twinpath/twinpath/internal/localpg/pgtest"
)

// The same failure comes with the same advice on both paths.
func TestAdviceIsThatOfREST(t *testing.T) {
	t.Parallel()
	db := pgtest.Golden(t)
	db.Exec(t, `create table public.narrow (id int primary key, word varchar(3) not null check (word <> 'no'));
		grant select, insert, update on public.narrow to authenticated;
		create view public.bad_cast as select 'x'::text::int as id from public.companies; grant select on public.bad_cast to anon;`)
	const secret = "a-secret-of-at-least-thirty-two-bytes"
	server, err := postgresttest.NewServer(postgresttest.Config{DSN: db.PoolerDSN, JWTSecret: secret})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	signer, err := jwt.NewHS256(jwt.Config{Secret: []byte(secret)})
	if err != nil {
		t.Fatal(err)
	}
	over, err := rest.New(rest.Config{URL: server.URL, Signer: signer})
	if err != nil {
		t.Fatal(err)
	}
	defer over.Close(t.Context())
	b := open(t, direct.Config{DSN: db.PoolerDSN})
	user := auth.Identity{Role: "authenticated", Claims: json.RawMessage(`{"sub":"` + aliceID + `"}`)}
	narrow := func(values map[string]any) query.Query { return query.Insert("narrow", values) }
	counted := query.From("insiders").Columns("id").Offset(50).Spec()
	counted.Count = query.CountExact
	for name, tt := range map[string]struct {
		q    query.Query
		id   auth.Identity
		code string
		has  string
	}{
		"unknown column":            {query.From("companies").Columns("nope"), anon, "42703", "column that doesn't exist"},
		"unknown table":             {query.From("nopes"), anon, "PGRST205", "no such table"},
		"unknown relationship":      {query.From("companies").Select(query.Embed{Relation: "nopes", Select: []query.Item{query.Star{}}}), anon, "PGRST200", "hint"},
		"unknown function":          {query.Call("nope", nil), anon, "PGRST202", "no function"},
		"unknown role":              {query.From("companies"), auth.Identity{Role: "nobody"}, "22023", "role does not exist"},
		"role not granted":          {query.From("companies"), auth.Identity{Role: "pg_monitor"}, "42501", "GRANT the latter"},
		"table denied":              {query.From("secrets"), user, "42501", "lacks a privilege"},
		"table denied to anon":      {query.From("secrets"), anon, "42501", "lacks a privilege"},
		"filter":                    {query.From("sectors").Where(query.Eq("id", "x")), anon, "22P02", "of a filter"},
		"filter too large":          {query.From("sectors").Where(query.Eq("id", "99999999999999")), anon, "22003", "of a filter"},
		"cast in a view, no filter": {query.From("bad_cast"), anon, "22P02", "no value of its own"},
		"operator":                  {query.From("companies").Where(query.Like("listed_on", "x")), anon, "42883", "no operator"},
		"too long":                  {narrow(map[string]any{"id": 1, "word": "four"}), user, "22001", "too long"},
		"null":                      {narrow(map[string]any{"id": 1, "word": nil}), user, "23502", "must not be null"},
		"check":                     {narrow(map[string]any{"id": 1, "word": "no"}), user, "23514", "check"},
		"written":                   {narrow(map[string]any{"id": "x", "word": "yes"}), user, "22P02", "of those written"},
		"unknown column written":    {narrow(map[string]any{"nope": 1}), user, "PGRST204", "no such column"},
		"past the end":              {query.FromSpec(counted), anon, "PGRST103", "past the last row"},
		"schema":                    {query.From("notes").InSchema("private_api"), anon, "PGRST106", "db-schemas"},
	} {
		var texts []string
		for _, path := range []dbaccess.Backend{b, over} {
			_, err := path.Do(t.Context(), call(tt.q, tt.id))
			e, ok := errors.AsType[*dbaccess.Error](err)
			if !ok || e.Code != tt.code {
				t.Errorf("%s: %T: error %v, want code %s", name, path, err, tt.code)
				continue
			}
			if !strings.Contains(e.Advice, tt.has) {
				t.Errorf("%s: %T: advice %q, want %q in it", name, path, e.Advice, tt.has)
			}
			texts = append(texts, strings.TrimSuffix(e.Advice, advice.StaleCache))
		}
		if len(texts) == 2 && texts[0] != texts[1] {
			t.Errorf("%s: direct says %q, rest says %q", name, texts[0], texts[1])
		}
	}
}
