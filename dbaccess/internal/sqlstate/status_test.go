package sqlstate_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess/internal/sqlstate"
)

func TestHTTPStatus(t *testing.T) {
	t.Parallel()
	tests := []struct {
		code, message string
		anon          bool
		want          int
	}{
		{code: "08000", want: 503},
		{code: "08006", want: 503},
		{code: "08P01", want: 503},
		{code: "09000", want: 500},
		{code: "0L000", want: 403},
		{code: "0LP01", want: 403},
		{code: "0P000", want: 403},
		{code: "21000", message: "more than one row returned by a subquery used as an expression", want: 500},
		{code: "21000", message: "UPDATE requires a WHERE clause", want: 400},
		{code: "21000", message: "a WHERE clause requires a WHERE clause, see below", want: 500},
		{code: "22012", want: 400},
		{code: "22023", message: `role "x" does not exist`, want: 401},
		{code: "22023", message: `parameter "x" is not a role`, want: 400},
		{code: "22023", message: `role "x" is odd`, want: 400},
		{code: "22P02", want: 400},
		{code: "23502", want: 400},
		{code: "23503", want: 409},
		{code: "23505", want: 409},
		{code: "23514", want: 400},
		{code: "25001", want: 500},
		{code: "25006", want: 405},
		{code: "25P02", want: 500},
		{code: "28000", want: 403},
		{code: "28P01", want: 403},
		{code: "2D000", want: 500},
		{code: "38000", want: 500},
		{code: "39000", want: 500},
		{code: "3B001", want: 500},
		{code: "3D000", want: 400},
		{code: "3F000", want: 400},
		{code: "40001", want: 500},
		{code: "40P01", want: 500},
		{code: "42501", want: 403},
		{code: "42501", anon: true, want: 401},
		{code: "42601", want: 400},
		{code: "42703", want: 400},
		{code: "42703", anon: true, want: 400},
		{code: "42804", want: 400},
		{code: "42883", message: "function nope() does not exist", want: 404},
		{code: "42883", message: "function xmlagg(text) does not exist", want: 406},
		{code: "42P01", want: 404},
		{code: "42P10", want: 400},
		{code: "42P17", want: 500},
		{code: "53000", want: 503},
		{code: "53300", want: 503},
		{code: "53400", want: 500},
		{code: "54000", want: 500},
		{code: "54001", want: 500},
		{code: "55006", want: 500},
		{code: "55P03", want: 500},
		{code: "57000", want: 500},
		{code: "57014", want: 500},
		{code: "57P01", want: 503},
		{code: "57P02", want: 500},
		{code: "57P03", want: 500},
		{code: "58030", want: 500},
		{code: "F0000", want: 500},
		{code: "HV000", want: 500},
		{code: "P0000", want: 500},
		{code: "P0001", want: 400},
		{code: "P0002", want: 500},
		{code: "PT402", want: 402},
		{code: "PT418", want: 418},
		{code: "PT503", want: 503},
		{code: "PT099", want: 500},
		{code: "PT4x8", want: 500},
		{code: "XX000", want: 500},
		{code: "XX001", want: 500},
		{code: "ZZ999", want: 400},
		{code: "", want: 400},
		{code: "4250", want: 400},
	}
	for _, tt := range tests {
		if got := sqlstate.HTTPStatus(tt.code, tt.message, tt.anon); got != tt.want {
			t.Errorf("HTTPStatus(%q, %q, anon %t) = %d, want %d", tt.code, tt.message, tt.anon, got, tt.want)
		}
	}
}

func TestParseRaise(t *testing.T) {
	t.Parallel()
	const message = `{"code":"123","message":"Payment Required","details":"Quota exceeded","hint":"Upgrade your plan"}`
	const detail = `{"status":402,"headers":{"X-Powered-By":"Nerd Rage"}}`
	got, ok := sqlstate.ParseRaise(message, detail)
	want := sqlstate.Raise{
		Code: "123", Message: "Payment Required", Details: "Quota exceeded", Hint: "Upgrade your plan",
		Status: http.StatusPaymentRequired, Headers: map[string]string{"X-Powered-By": "Nerd Rage"},
	}
	if diff := cmp.Diff(want, got); diff != "" || !ok {
		t.Errorf("ok %t (-want +got):\n%s", ok, diff)
	}
	for name, tt := range map[string]struct{ message, detail string }{
		"plain message":     {"no JSON", detail},
		"no code":           {`{"message":"m"}`, detail},
		"no message":        {`{"code":"c"}`, detail},
		"no detail":         {message, ""},
		"no status":         {message, `{"headers":{}}`},
		"no headers":        {message, `{"status":402}`},
		"status not a HTTP": {message, `{"status":7,"headers":{}}`},
		"status as text":    {message, `{"status":"402","headers":{}}`},
	} {
		if got, ok := sqlstate.ParseRaise(tt.message, tt.detail); ok || got.Code != "PGRST121" || got.Status != 500 {
			t.Errorf("%s: got %+v, ok %t; want PGRST121 with status 500", name, got, ok)
		}
	}
}

func FuzzHTTPStatus(f *testing.F) {
	f.Add("42501", "permission denied", true)
	f.Add("PT999", "", false)
	f.Fuzz(func(t *testing.T, code, message string, anon bool) {
		if s := sqlstate.HTTPStatus(code, message, anon); s < 100 || s > 999 {
			t.Errorf("status %d is none", s)
		}
	})
}
