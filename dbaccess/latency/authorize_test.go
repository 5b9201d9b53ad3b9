package latency_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/twinpath/twinpath/dbaccess/latency"
)

// loopback is a request as a server on 127.0.0.1:8080 gets it from the machine itself.
func loopback(ctx context.Context, method, target string) *http.Request {
	near := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	r := httptest.NewRequestWithContext(context.WithValue(ctx, http.LocalAddrContextKey, near), method, target, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:50000", "127.0.0.1:8080"
	return r
}

func TestAllowLoopback(t *testing.T) {
	t.Parallel()
	near := func(a net.Addr) func(*http.Request) {
		return func(r *http.Request) {
			*r = *r.WithContext(context.WithValue(context.Background(), http.LocalAddrContextKey, a))
		}
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = []string{value} } // as it is, without making it canonical
	}
	far := func(a string) func(*http.Request) { return func(r *http.Request) { r.RemoteAddr = a } }
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	for _, tt := range []struct {
		name   string
		change func(*http.Request)
		want   bool
	}{
		{"as it is", func(*http.Request) {}, true},
		{"IPv6", func(r *http.Request) {
			near(&net.TCPAddr{IP: net.IPv6loopback, Port: 80})(r)
			r.RemoteAddr, r.Host = "[::1]:50000", "[::1]:80"
		}, true},
		{"IPv4 in IPv6", far("[::ffff:127.0.0.1]:50000"), true},
		{"elsewhere in 127/8", far("127.8.9.10:1"), true},

		{"far end remote", far("192.0.2.1:50000"), false},
		{"far end private", far("10.0.0.5:50000"), false},
		{"far end remote, in IPv6", far("[::ffff:192.0.2.1]:50000"), false},
		{"far end link-local", far("[fe80::1%lo]:50000"), false},
		{"far end unknown", far(""), false},
		{"far end a name", far("localhost:50000"), false},
		{"far end without a port", far("127.0.0.1"), false},
		{"far end a Unix socket", far("@"), false},

		{"near end remote", near(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}), false},
		{"near end unspecified", near(&net.TCPAddr{IP: net.IPv4zero, Port: 80}), false},
		{"near end a Unix socket", near(&net.UnixAddr{Name: "/run/app.sock", Net: "unix"}), false},
		{"near end unknown", near(nil), false},
		{"near end a nil address", near((*net.TCPAddr)(nil)), false},
		{"no near end", func(r *http.Request) { *r = *r.WithContext(context.Background()) }, false},

		{"Forwarded", header("Forwarded", "for=127.0.0.1"), false},
		{"forwarded in lower case", header("forwarded", "for=127.0.0.1"), false},
		{"X-Forwarded-For", header("X-Forwarded-For", "127.0.0.1"), false},
		{"x-forwarded-for in lower case", header("x-forwarded-for", "127.0.0.1"), false},
		{"X-Forwarded-For, empty", header("X-Forwarded-For", ""), false},
		{"X-Forwarded-Proto alone", header("X-Forwarded-Proto", "https"), false},
		{"X-Forwarded-Host", header("X-Forwarded-Host", "localhost"), false},
		{"X-Real-IP", header("X-Real-Ip", "127.0.0.1"), false},
		{"Via", header("Via", "1.1 proxy"), false},
		{"Cloudflare", header("Cf-Connecting-Ip", "127.0.0.1"), false},
		{"True-Client-IP", header("True-Client-Ip", "127.0.0.1"), false},
		{"a header like those", header("X-Forward", "1"), true},

		{"localhost", host("localhost:8080"), true},
		{"localhost without a port", host("LocalHost"), true},
		{"IPv6 without a port", host("[::1]"), true},
		{"a name that resolves to loopback", host("evil.example:8080"), false},
		{"a name that begins like localhost", host("localhost.evil.example"), false},
		{"a name that begins like loopback", host("127.0.0.1.evil.example"), false},
		{"another address", host("192.0.2.1:8080"), false},
		{"unspecified", host("0.0.0.0:8080"), false},
		{"no host", host(""), false},

		{"a browser's address bar", header("Sec-Fetch-Site", "none"), true},
		{"a page of its own", header("Sec-Fetch-Site", "same-origin"), true},
		{"a page of another port", header("Sec-Fetch-Site", "same-site"), false},
		{"a page from elsewhere", header("Sec-Fetch-Site", "cross-site"), false},
		{"its own origin", header("Origin", "http://127.0.0.1:8080"), true},
		{"another origin", header("Origin", "http://evil.example"), false},
		{"no origin to tell", header("Origin", "null"), false},
		{"two origins", func(r *http.Request) { r.Header["Origin"] = []string{"http://127.0.0.1:8080", "http://evil.example"} }, false},
		{"two places", func(r *http.Request) { r.Header["Sec-Fetch-Site"] = []string{"none", "cross-site"} }, false},
	} {
		r := loopback(t.Context(), http.MethodGet, "/")
		tt.change(r)
		if got := latency.AllowLoopback(r); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
	if latency.AllowLoopback(nil) {
		t.Error("it allows no request at all")
	}
}

// TestAllowLoopbackOnAServer sees what net/http really hands over.
func TestAllowLoopbackOnAServer(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(latency.NewRecorder(latency.RecorderConfig{}).Handler(latency.AllowLoopback))
	defer srv.Close()
	for _, tt := range []struct {
		name, header, value, host string
		want                      int
	}{
		{"local", "", "", "", 200},
		{"passed on", "x-forwarded-for", "127.0.0.1", "", 404},
		{"rebound", "", "", "evil.example", 404},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = tt.host
		if tt.header != "" {
			req.Header.Set(tt.header, tt.value)
		}
		resp, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("%s: status %d, want %d", tt.name, resp.StatusCode, tt.want)
		}
	}
}
