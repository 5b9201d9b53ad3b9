package dbaccess_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/twinpath/twinpath/dbaccess"
)

func TestErrorAnswersForItsKind(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  dbaccess.Error
		is   []error
		not  []error
	}{
		{"no rows", dbaccess.Error{Kind: dbaccess.ErrNoRows}, []error{dbaccess.ErrNoRows, sql.ErrNoRows}, []error{dbaccess.ErrMultipleRows}},
		{"timeout", dbaccess.Error{Kind: dbaccess.ErrTimeout}, []error{dbaccess.ErrTimeout, context.DeadlineExceeded}, []error{context.Canceled}},
		{"saturated", dbaccess.Error{Kind: dbaccess.ErrSaturated}, []error{dbaccess.ErrSaturated, dbaccess.ErrUnavailable}, nil},
		{"anonymous lacks a privilege", dbaccess.Error{Kind: dbaccess.ErrPermission, HTTPStatus: 401}, []error{dbaccess.ErrPermission, dbaccess.ErrUnauthorized}, nil},
		{"user lacks a privilege", dbaccess.Error{Kind: dbaccess.ErrPermission, HTTPStatus: 403}, []error{dbaccess.ErrPermission}, []error{dbaccess.ErrUnauthorized}},
		{"of no kind", dbaccess.Error{Code: "XX000"}, nil, []error{dbaccess.ErrNoRows, sql.ErrNoRows}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, want := range tt.is {
				if !errors.Is(&tt.err, want) {
					t.Errorf("is not %v", want)
				}
			}
			for _, other := range tt.not {
				if errors.Is(&tt.err, other) {
					t.Errorf("is %v", other)
				}
			}
		})
	}
}

func TestErrorKeepsTheServersWordsToItself(t *testing.T) {
	t.Parallel()
	err := dbaccess.Error{
		Path: dbaccess.Direct, Op: "select", Query: "recent_filings", Code: "22P02", SQLState: "22P02",
		HTTPStatus: 400, Kind: dbaccess.ErrInvalid, Advice: "check the types of the filter values",
	}.With(dbaccess.ServerText{Message: canary, Detail: canary, Hint: canary}, errors.New(canary))

	assertSilent(t, err)
	j, jerr := json.Marshal(err)
	if jerr != nil {
		t.Fatal(jerr)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Error("failed", "err", err)
	slog.New(slog.NewTextHandler(&log, nil)).Error("failed", "err", err)
	for _, s := range []string{string(j), log.String()} {
		if strings.Contains(s, canary) {
			t.Errorf("shows the server's words: %s", s)
		}
		if !strings.Contains(s, "22P02") {
			t.Errorf("does not show the code: %s", s)
		}
	}
	want := "dbaccess: recent_filings over direct: invalid value (22P02, status 400): check the types of the filter values"
	if got := err.Error(); got != want {
		t.Errorf("text\n got %s\nwant %s", got, want)
	}
	if err.Message() != canary || err.Detail() != canary || err.Hint() != canary {
		t.Error("the server's words are lost")
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		code   string
		status int
		want   error
	}{
		{"PGRST003", 504, dbaccess.ErrSaturated},
		{"PGRST002", 503, dbaccess.ErrUnavailable},
		{"PGRST100", 400, dbaccess.ErrInvalid},
		{"PGRST111", 500, nil},
		{"PGRST201", 300, dbaccess.ErrInvalid},
		{"PGRST204", 400, dbaccess.ErrNotFound},
		{"40001", 500, dbaccess.ErrSerialization},
		{"40P01", 500, dbaccess.ErrSerialization},
		{"40002", 500, dbaccess.ErrConflict},
		{"PGRST205", 404, dbaccess.ErrNotFound},
		{"PGRST301", 401, dbaccess.ErrUnauthorized},
		{"22P02", 400, dbaccess.ErrInvalid},
		{"22023", 400, dbaccess.ErrInvalid},
		{"23505", 409, dbaccess.ErrConflict},
		{"23503", 409, dbaccess.ErrConflict},
		{"23514", 400, dbaccess.ErrInvalid},
		{"42501", 401, dbaccess.ErrPermission},
		{"42501", 403, dbaccess.ErrPermission},
		{"42P01", 404, dbaccess.ErrNotFound},
		{"42703", 400, dbaccess.ErrNotFound},
		{"57014", 500, dbaccess.ErrTimeout},
		{"53300", 503, dbaccess.ErrSaturated},
		{"53100", 503, dbaccess.ErrUnavailable},
		{"08006", 503, dbaccess.ErrUnavailable},
		{"P0001", 400, nil},
		{"XX000", 500, nil},
		{"", 401, dbaccess.ErrUnauthorized},
		{"", 403, dbaccess.ErrPermission},
		{"", 409, dbaccess.ErrConflict},
		{"", 429, dbaccess.ErrUnavailable},
		{"", 502, dbaccess.ErrUnavailable},
		{"", 522, dbaccess.ErrUnavailable},
		{"", 500, nil},
	}
	for _, tt := range tests {
		if got := dbaccess.KindOf(tt.code, tt.status); got != tt.want {
			t.Errorf("KindOf(%q, %d) = %v, want %v", tt.code, tt.status, got, tt.want)
		}
	}
}

type valueError struct{ value string }

func (e *valueError) Error() string { return "bad value " + e.value }

func TestCausesAreSilent(t *testing.T) {
	t.Parallel()
	cause := &valueError{canary}
	err := error(dbaccess.Error{Code: "22P02"}.With(dbaccess.ServerText{Message: canary}, fmt.Errorf("%w: %w", cause, context.Canceled)))
	for e := err; e != nil; e = errors.Unwrap(e) { // as error reporters do
		assertSilent(t, e)
		if strings.Contains(e.Error(), canary) {
			t.Errorf("%T shows a value", e)
		}
	}
	if got, ok := errors.AsType[*valueError](err); !ok || got != cause {
		t.Error("errors.As does not find the cause")
	}
	if !errors.Is(err, context.Canceled) {
		t.Error("errors.Is does not find the cause")
	}
	value := *err.(*dbaccess.Error)
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if s := fmt.Sprintf(verb, value); strings.Contains(s, canary) {
			t.Errorf("%s of the value prints the server's words: %s", verb, s)
		}
	}
	if b, jerr := json.Marshal(value); jerr != nil || strings.Contains(string(b), canary) {
		t.Errorf("JSON of the value: %s, %v", b, jerr)
	}
}
