package rest_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twinpath/twinpath/dbaccess"
	"github.com/twinpath/twinpath/dbaccess/query"
	"github.com/twinpath/twinpath/dbaccess/rest"
)

func TestRowsAndTotals(t *testing.T) {
	t.Parallel()
	type result struct {
		Body        string
		Rows, Total int64
		Status      int
	}
	for name, tt := range map[string]struct {
		status       int
		contentRange string
		body         string
		single, head bool
		want         result
	}{
		"uncounted":    {200, "0-1/*", `[1,2]`, false, false, result{`[1,2]`, 2, -1, 200}},
		"counted":      {206, "3-4/30", `[1,2]`, false, false, result{`[1,2]`, 2, 30, 206}},
		"empty":        {200, "*/0", `[]`, false, false, result{`[]`, 0, 0, 200}},
		"past the end": {200, "*/*", `[]`, false, false, result{`[]`, 0, -1, 200}},
		"no range":     {200, "", `[]`, false, false, result{`[]`, -1, -1, 200}},
		"single":       {200, "0-0/*", `{}`, true, false, result{`{}`, 1, -1, 200}},
		"head":         {200, "0-11/12", ``, false, true, result{``, 0, 12, 200}},
		"nonsense":     {200, "a-b/c", `[]`, false, false, result{`[]`, -1, -1, 200}},
		"backwards":    {200, "5-2/-7", `[]`, false, false, result{`[]`, -1, -1, 200}},
		"overflow":     {200, "0-9223372036854775807/9223372036854775808", `[]`, false, false, result{`[]`, -1, -1, 200}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := backend(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json; charset=utf-8")
				if tt.contentRange != "" {
					w.Header().Set("Content-Range", tt.contentRange)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			c := call(query.From("t"))
			c.Query.Single, c.Query.Head = tt.single, tt.head
			res, err := b.Do(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			got := result{string(res.Body), res.Rows, res.Total, res.Status}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

// reply is what a server answers, PostgREST or something before it.
type reply struct {
	status int
	header map[string]string
	body   string
}

func (r reply) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	for k, v := range r.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(r.status)
	_, _ = io.WriteString(w, r.body)
}

func TestErrors(t *testing.T) {
	t.Parallel()
	type want struct {
		Code, SQLState string
		Status         int
		Message        string
		Detail, Hint   string
	}
	html := map[string]string{"Content-Type": "text/html"}
	plain := map[string]string{"Content-Type": "text/plain"}
	for name, tt := range map[string]struct {
		reply  reply
		head   bool
		want   want
		is     []error
		isNot  []error
		advice string // part of it, "" when there is none
	}{
		"unknown column": {
			reply:  reply{400, nil, `{"code":"42703","details":null,"hint":"Perhaps you meant …","message":"column t.sesame does not exist"}`},
			want:   want{"42703", "42703", 400, "column t.sesame does not exist", "", "Perhaps you meant …"},
			is:     []error{dbaccess.ErrNotFound},
			advice: "names a column that doesn't exist",
		},
		"unknown table": {
			reply:  reply{404, nil, `{"code":"PGRST205","details":null,"hint":null,"message":"Could not find the table 'public.nopes' in the schema cache"}`},
			want:   want{"PGRST205", "", 404, "Could not find the table 'public.nopes' in the schema cache", "", ""},
			is:     []error{dbaccess.ErrNotFound},
			advice: "reload",
		},
		"details are a list": {
			reply:  reply{300, nil, `{"code":"PGRST201","details":[{"cardinality":"many-to-one"}],"hint":"Try","message":"ambiguous"}`},
			want:   want{"PGRST201", "", 300, "ambiguous", `[{"cardinality":"many-to-one"}]`, "Try"},
			advice: "hint",
		},
		"a status that the database chose": {
			reply:  reply{404, map[string]string{"Content-Range": "0-0/*"}, `{"sesame":1}`},
			want:   want{Status: 404},
			advice: "response.status",
		},
		"no row": {
			reply: reply{406, nil, `{"code":"PGRST116","details":"The result contains 0 rows","hint":null,"message":"Cannot coerce the result to a single JSON object"}`},
			want:  want{"PGRST116", "", 406, "Cannot coerce the result to a single JSON object", "The result contains 0 rows", ""},
			is:    []error{dbaccess.ErrNoRows, sql.ErrNoRows},
			isNot: []error{dbaccess.ErrMultipleRows},
		},
		"many rows": {
			reply: reply{406, nil, `{"code":"PGRST116","details":"The result contains 20 rows","hint":null,"message":"Cannot coerce the result to a single JSON object"}`},
			want:  want{"PGRST116", "", 406, "Cannot coerce the result to a single JSON object", "The result contains 20 rows", ""},
			is:    []error{dbaccess.ErrMultipleRows},
			isNot: []error{dbaccess.ErrNoRows},
		},
		"statement timeout": {
			reply:  reply{500, nil, `{"code":"57014","details":null,"hint":null,"message":"canceling statement due to statement timeout"}`},
			want:   want{"57014", "57014", 500, "canceling statement due to statement timeout", "", ""},
			is:     []error{dbaccess.ErrTimeout, context.DeadlineExceeded},
			isNot:  []error{dbaccess.ErrUnavailable},
			advice: "statement_timeout",
		},
		"denied, anonymous": {
			reply:  reply{401, nil, `{"code":"42501","details":null,"hint":null,"message":"permission denied for table secrets"}`},
			want:   want{"42501", "42501", 401, "permission denied for table secrets", "", ""},
			is:     []error{dbaccess.ErrPermission, dbaccess.ErrUnauthorized},
			advice: "lacks a privilege",
		},
		"expired": {
			reply:  reply{401, nil, `{"code":"PGRST303","details":null,"hint":null,"message":"JWT expired"}`},
			want:   want{"PGRST303", "", 401, "JWT expired", "", ""},
			is:     []error{dbaccess.ErrUnauthorized},
			advice: "has expired",
		},
		"pool was full": {
			reply:  reply{504, nil, `{"code":"PGRST003","details":null,"hint":null,"message":"Timed out acquiring connection from connection pool."}`},
			want:   want{"PGRST003", "", 504, "Timed out acquiring connection from connection pool.", "", ""},
			is:     []error{dbaccess.ErrSaturated, dbaccess.ErrUnavailable},
			advice: "db-pool",
		},
		"raised by a function": {
			reply: reply{402, map[string]string{"Proxy-Status": "PostgREST; error=QUOTA7"}, `{"code":"QUOTA7","message":"Pay","details":"d","hint":"h"}`},
			want:  want{"QUOTA7", "", 402, "Pay", "d", "h"},
		},
		"HEAD has no body": {
			reply:  reply{403, map[string]string{"Proxy-Status": `edge; error=timeout, PostgREST; error=42501`}, ""},
			head:   true,
			want:   want{"42501", "42501", 403, "", "", ""},
			is:     []error{dbaccess.ErrPermission},
			advice: "lacks a privilege",
		},
		"HEAD without a code": {
			reply:  reply{404, nil, ""},
			head:   true,
			want:   want{Status: 404},
			advice: "/rest/v1",
		},
		"range": {
			reply:  reply{416, map[string]string{"Content-Range": "*/12"}, `{"code":"PGRST103","details":"An offset of 50 was requested, but there are only 12 rows.","hint":null,"message":"Requested range not satisfiable"}`},
			want:   want{"PGRST103", "", 416, "Requested range not satisfiable", "An offset of 50 was requested, but there are only 12 rows.", ""},
			is:     []error{dbaccess.ErrInvalid},
			advice: "past the last row",
		},
		"range, cut off": {
			reply:  reply{416, map[string]string{"Content-Range": "*/12"}, `{"`},
			want:   want{"PGRST103", "", 416, "", "", ""},
			advice: "past the last row",
		},
		"range, with rows": {
			reply:  reply{416, map[string]string{"Content-Range": "*/12"}, `[]`},
			want:   want{"PGRST103", "", 416, "", "", ""},
			advice: "past the last row",
		},
		"range, empty": {
			reply:  reply{416, map[string]string{"Content-Range": "*/12"}, ``},
			want:   want{"PGRST103", "", 416, "", "", ""},
			advice: "past the last row",
		},
		"gateway page": {
			reply:  reply{522, html, `<html>connection timed out</html>`},
			want:   want{Status: 522, Message: "<html>connection timed out</html>"},
			is:     []error{dbaccess.ErrUnavailable},
			advice: "gateway",
		},
		"gateway text": {
			reply:  reply{523, plain, "error code: 523"},
			want:   want{Status: 523, Message: "error code: 523"},
			is:     []error{dbaccess.ErrUnavailable},
			advice: "gateway",
		},
		"gateway, nothing": {
			reply:  reply{503, plain, ""},
			want:   want{Status: 503},
			is:     []error{dbaccess.ErrUnavailable},
			advice: "gateway",
		},
		"gateway, null": {
			reply:  reply{502, nil, "null"},
			want:   want{Status: 502, Message: "null"},
			is:     []error{dbaccess.ErrUnavailable},
			advice: "gateway",
		},
		"gateway, JSON": {
			reply:  reply{502, nil, `{"message":"An invalid response was received from the upstream server"}`},
			want:   want{Status: 502, Message: "An invalid response was received from the upstream server"},
			is:     []error{dbaccess.ErrUnavailable},
			advice: "gateway",
		},
		"gateway, JSON with a code": {
			reply:  reply{500, nil, `{"code":"unexpected failure at /rest/v1/t?select=x","message":"boom"}`},
			want:   want{Status: 500, Message: "boom"},
			advice: "gateway",
		},
		"gateway, wrong key": {
			reply:  reply{401, nil, `{"message":"Invalid API key","hint":"Double check your Supabase key."}`},
			want:   want{Status: 401, Message: "Invalid API key"},
			is:     []error{dbaccess.ErrUnauthorized},
			advice: "APIKey",
		},
		"gateway, too long": {
			reply:  reply{414, html, "<html>"},
			want:   want{Status: 414, Message: "<html>"},
			is:     []error{dbaccess.ErrInvalid},
			advice: "too long",
		},
		"gateway, too many": {
			reply:  reply{429, plain, "slow down"},
			want:   want{Status: 429, Message: "slow down"},
			is:     []error{dbaccess.ErrUnavailable},
			advice: "rate",
		},
		"success that is an error": {
			reply:  reply{200, nil, `{"code":"42P01","message":"upstream"}`},
			want:   want{Message: "upstream"},
			is:     []error{dbaccess.ErrUnavailable},
			advice: "not the rows",
		},
		"success that is nothing": {
			reply:  reply{200, nil, ""},
			is:     []error{dbaccess.ErrUnavailable},
			advice: "not the rows",
		},
		"success that breaks off": {
			reply:  reply{200, nil, `[{"name":"sesame`},
			is:     []error{dbaccess.ErrUnavailable},
			advice: "broke off",
		},
		"success that isn't one": {
			reply:  reply{200, plain, "upstream connect error or disconnect/reset before headers"},
			want:   want{Message: "upstream connect error or disconnect/reset before headers"},
			is:     []error{dbaccess.ErrUnavailable},
			advice: "rest.Config.URL",
		},
		"wrong root": {
			reply:  reply{404, html, "<html>not here</html>"},
			want:   want{Status: 404, Message: "<html>not here</html>"},
			advice: "/rest/v1",
		},
		"long page": {
			reply:  reply{500, html, strings.Repeat("é", 100_000)},
			want:   want{Status: 500, Message: strings.Repeat("é", 256)},
			advice: "gateway",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := backend(t, tt.reply.ServeHTTP)
			c := call(query.From("t").Where(query.Eq("name", "sesame")))
			c.Query.Head = tt.head
			res, err := b.Do(t.Context(), c)
			e := asError(t, err)
			got := want{e.Code, e.SQLState, e.HTTPStatus, e.Message(), e.Detail(), e.Hint()}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			for _, target := range tt.is {
				if !errors.Is(err, target) {
					t.Errorf("errors.Is(err, %v) = false", target)
				}
			}
			for _, target := range tt.isNot {
				if errors.Is(err, target) {
					t.Errorf("errors.Is(err, %v) = true", target)
				}
			}
			if tt.advice == "" && e.Advice != "" || !strings.Contains(e.Advice, tt.advice) {
				t.Errorf("advice = %q, want %q in it", e.Advice, tt.advice)
			}
			if containsAny(texts(t, err), "sesame", "Perhaps", "upstream", "select=") {
				t.Errorf("the error tells values: %s", texts(t, err))
			}
			if res == nil || res.Status != tt.reply.status {
				t.Errorf("result = %+v, want one with status %d", res, tt.reply.status)
			}
			if tt.reply.status == 416 && res.Total != 12 {
				t.Errorf("total = %d, want 12", res.Total)
			}
		})
	}
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	const limit = 1000
	body := `["` + strings.Repeat("x", limit-4) + `"]`
	for name, tt := range map[string]struct {
		body    string
		chunked bool
		tooLong bool
	}{
		"at the limit":          {body: body},
		"at the limit, chunked": {body: body, chunked: true},
		"beyond":                {body: body + " ", tooLong: true},
		"beyond, chunked":       {body: body + " ", chunked: true, tooLong: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := backend(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if tt.chunked {
					w.WriteHeader(200)
					w.(http.Flusher).Flush()
				}
				_, _ = io.WriteString(w, tt.body)
			}, func(c *rest.Config) { c.MaxBodyBytes = limit })
			res, err := b.Do(t.Context(), call(query.From("t")))
			if !tt.tooLong {
				if err != nil || string(res.Body) != tt.body {
					t.Fatalf("Do = %d bytes, %v", len(res.Body), err)
				}
				return
			}
			if !errors.Is(err, rest.ErrBodyTooLarge) {
				t.Errorf("error = %v, want ErrBodyTooLarge", err)
			}
			if e := asError(t, err); e.HTTPStatus != 0 || !strings.Contains(e.Advice, "MaxBodyBytes") {
				t.Errorf("error = %v, want no status and advice on MaxBodyBytes", e)
			}
		})
	}
}

// An answer that breaks off is told from none at all.
func TestAnswerThatBreaksOff(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for name, tt := range map[string]struct{ answer, advice string }{
		"none":                  {"", "without an answer"},
		"in the status line":    {"HTTP/1.1 20", "broke off in its header"},
		"in the header":         {head + "Content-Le", "broke off in its header"},
		"two lengths":           {head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n[]", "broke off in its header"},
		"before the body":       {head + "Content-Length: 2\r\n\r\n", "broke off before its end"},
		"length that is a lie":  {head + "Content-Length: 99\r\n\r\n[]", "broke off before its end"},
		"in a chunk":            {head + "Transfer-Encoding: chunked\r\n\r\n5\r\n[{", "broke off before its end"},
		"without the last one":  {head + "Transfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n", "broke off before its end"},
		"chunk that is no size": {head + "Transfer-Encoding: chunked\r\n\r\nsesame\r\n[]\r\n", "broke off before its end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := backend(t, func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				_, _ = io.WriteString(conn, tt.answer)
			})
			_, err := b.Do(t.Context(), call(query.From("t")))
			if e := asError(t, err); !errors.Is(err, dbaccess.ErrUnavailable) || !strings.Contains(e.Advice, tt.advice) {
				t.Errorf("error %v, want ErrUnavailable with %q in its advice", e, tt.advice)
			}
			if containsAny(texts(t, err), "sesame") {
				t.Errorf("the error tells what came: %s", texts(t, err))
			}
		})
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(200, "application/json", "0-0/*", "jwt;dur=0.1", "", []byte(`[{}]`), false)
	f.Add(416, "application/json", "*/12", "", "PostgREST; error=PGRST103", []byte(`{"code":"PGRST103","details":[],"hint":{}}`), true)
	f.Add(502, "text/html", "", "", "PostgREST", []byte(`<html>`), false)
	f.Add(200, "application/json", "", "", "", []byte(`{"code":"42P01","message":"m"}`), false)
	f.Fuzz(func(t *testing.T, status int, contentType, contentRange, timing, proxy string, body []byte, head bool) {
		if status < 200 || status > 999 {
			return
		}
		fixed := transportFunc(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: status, Request: r, ContentLength: -1,
				Header: http.Header{
					"Content-Type": {contentType}, "Content-Range": {contentRange},
					"Server-Timing": {timing}, "Proxy-Status": {proxy}, "Server": {"postgrest/14.2"},
				},
				Body: io.NopCloser(strings.NewReader(string(body))),
			}, nil
		})
		b, err := rest.New(rest.Config{URL: "http://localhost", Transport: fixed})
		if err != nil {
			t.Fatal(err)
		}
		c := call(query.From("t"))
		c.Query.Head = head
		res, err := b.Do(context.Background(), c)
		if res == nil || res.Total < -1 || res.Rows < -1 {
			t.Fatalf("result = %+v", res)
		}
		rows := strings.TrimSpace(string(body))
		whole := head || len(rows) > 1 && rows[0] == '[' && rows[len(rows)-1] == ']'
		if (err == nil) != (status < 300 && (contentType == "" || strings.Contains(contentType, "json")) && whole) {
			t.Fatalf("status %d, type %q: error = %v", status, contentType, err)
		}
		if err == nil {
			return
		}
		e := asError(t, err)
		if len(e.Code) > 16 || len(e.Error()) > 400 {
			t.Errorf("code %q, text of %d bytes: both must be bounded", e.Code, len(e.Error()))
		}
	})
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
