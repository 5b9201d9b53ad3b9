package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/internal/catalog"
)

func TestHints(t *testing.T) {
	t.Parallel()
	c := golden(t)
	relationship := func(origin, target, hint string) error {
		_, err := c.Relationship("public", origin, target, hint)
		return err
	}
	function := func(name string, args ...string) error {
		_, err := c.Function("public", name, catalog.Call{Args: args})
		return err
	}
	long := strings.Repeat("companies", 100)
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"table", c.UnknownTable("public", "compaies"), "Perhaps you meant the table 'public.companies'"},
		{"table in other letters", c.UnknownTable("public", "Companies"), "Perhaps you meant the table 'public.companies'"},
		{"table of another schema", c.UnknownTable("public", "notes"), ""},
		{"no table like it", c.UnknownTable("public", "zzzzzz"), ""},
		{"long table", c.UnknownTable("public", long), ""},
		{"empty table", c.UnknownTable("public", ""), ""},
		{"target", relationship("companies", "price", ""), "Perhaps you meant 'prices' instead of 'price'."},
		{"origin", relationship("companie", "prices", ""), "Perhaps you meant 'companies' instead of 'companie'."},
		{"embed's hint", relationship("companies", "prices", "nope"), ""},
		{"function", function("add_then", "a"), "Perhaps you meant to call the function public.add_them"},
		{"arguments", function("fail_with", "cod", "msg"), "Perhaps you meant to call the function public.fail_with(code, det, hnt, msg)"},
		{"no arguments like them", function("pick", "zzzzzzzzzzzzzzz"), ""},
	} {
		var got *catalog.Error
		if !errors.As(tt.err, &got) {
			t.Errorf("%s: error %v, want a *catalog.Error", tt.name, tt.err)
			continue
		}
		if got.Hint != tt.want {
			t.Errorf("%s: hint %q, want %q", tt.name, got.Hint, tt.want)
		}
	}
}

// The text of an error names the code and what to do, and none of the names that
// a stranger may have put into the request.
func TestErrorTextQuotesNothing(t *testing.T) {
	t.Parallel()
	c := golden(t)
	table, _ := c.Table("public", "companies")
	const secret = "hunter2"
	_, relationship := c.Relationship("public", "companies", secret, secret)
	_, ambiguous := c.Relationship("public", "insider_transactions", "insiders", "")
	_, function := c.Function("public", secret, catalog.Call{Args: []string{secret}})
	seen := map[string]bool{}
	for _, err := range []error{c.UnknownTable("public", secret), table.UnknownColumn(secret), c.Exposes(secret), relationship, ambiguous, function} {
		var e *catalog.Error
		if !errors.As(err, &e) {
			t.Fatalf("error %v, want a *catalog.Error", err)
		}
		for _, text := range []string{err.Error(), fmt.Sprintf("%v", err), fmt.Sprintf("%s", err)} {
			if strings.Contains(text, secret) || !strings.Contains(text, e.Code) {
				t.Errorf("%s: text %q", e.Code, text)
			}
		}
		seen[err.Error()] = true
		var body struct {
			Code, Message string
			Details, Hint any
		}
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &body); err != nil || body.Code != e.Code || body.Message != e.Message {
			t.Errorf("%s: body %s (%v)", e.Code, b, err)
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d different texts for 6 codes", len(seen))
	}
}

func TestExposes(t *testing.T) {
	t.Parallel()
	c := golden(t)
	for _, schema := range []string{"public", "private_api"} {
		if err := c.Exposes(schema); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
	for _, schema := range []string{"", "auth", "pg_catalog"} {
		if err := c.Exposes(schema); err == nil {
			t.Errorf("%q is exposed", schema)
		}
	}
}
