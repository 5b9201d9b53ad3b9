package doctor

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/twinpath/twinpath/dbaccess/rest"
)

const (
	maxBody = 64 << 10

	// noTable is asked for: the answer that there is no such table comes from PostgREST
	// itself, proves that it knows a schema, and reads nothing.
	noTable = "twinpath_doctor_no_such_table"

	restPings = 5
)

// postgrest is the PostgREST that answered.
type postgrest struct {
	cfg     rest.Config
	base    *url.URL
	client  *http.Client
	timeout time.Duration // of a request
	version string
}

// reply is an answer, without more of its text than its code.
type reply struct {
	status int
	header http.Header
	code   string // PostgREST's, or an SQLSTATE
	known  bool   // the body is an error object of PostgREST's
	took   time.Duration
	sent   time.Time
}

// rest examines Config.RESTURL. It returns nil when no PostgREST answered.
func (x *examination) rest(ctx context.Context) *postgrest {
	if x.cfg.RESTURL == "" {
		return nil
	}
	p := &postgrest{timeout: x.budget.request, cfg: rest.Config{URL: x.cfg.RESTURL, APIKey: x.cfg.APIKey, Schema: x.cfg.Schema, AnonRole: x.cfg.AnonRole}}
	b, err := rest.New(p.cfg)
	if err != nil {
		x.add(Finding{ID: "rest.url", Severity: Error, What: "the URL, the key or the schema is refused", Why: "rest.New names what is wrong", Mend: urlAdvice(x.cfg.RESTURL)})
		return nil
	}
	_ = b.Close(ctx)
	if p.base, err = url.Parse(x.cfg.RESTURL); err != nil {
		return nil
	}
	x.add(x.urlFinding(p.base))
	transport := &http.Transport{
		MaxIdleConnsPerHost: 1, DialContext: (&net.Dialer{Resolver: x.cfg.Resolver}).DialContext,
		ForceAttemptHTTP2: true, ResponseHeaderTimeout: x.budget.request, MaxResponseHeaderBytes: maxBody,
	}
	p.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

	first, ok := x.layers(ctx, p)
	if !ok || !x.isPostgREST(p, first) {
		transport.CloseIdleConnections()
		return nil
	}
	x.restVersion(p, first)
	x.restClock(first)
	x.restTiming(ctx, p)
	x.token(ctx, p)
	return p
}

func urlAdvice(raw string) string {
	if !strings.HasPrefix(raw, "http://") && !strings.HasPrefix(raw, "https://") {
		return "write it as https://host/rest/v1"
	}
	return "write it as https://host/rest/v1, without a user, query or fragment; the key must be one line"
}

func (x *examination) urlFinding(u *url.URL) Finding {
	f := Finding{ID: "rest.url", What: "PostgREST at " + u.Scheme + "://" + u.Host}
	host := strings.ToLower(u.Hostname())
	switch {
	case strings.HasSuffix(host, ".supabase.co") && !strings.HasPrefix(strings.TrimSuffix(u.Path, "/"), "/rest/v1"):
		f.Severity, f.Mend = Warning, "on Supabase PostgREST is at /rest/v1"
	case strings.HasSuffix(host, ".supabase.co") && x.cfg.APIKey == "":
		f.Severity, f.Mend = Warning, "Supabase's gateway asks for a key: give the project's anon or publishable key"
	case u.Scheme == "http" && !isLoopback(host) && x.cfg.APIKey != "":
		f.Severity, f.Why, f.Mend = Info, "key and tokens travel in the clear", "use https, unless the network between is a private one"
	}
	return f
}

// get asks for a table that does not exist, as whom the token says.
func (p *postgrest) get(ctx context.Context, token string) (*reply, error) {
	return p.request(ctx, http.MethodGet, p.base.JoinPath(noTable), token)
}

// request asks for no rows.
func (p *postgrest) request(ctx context.Context, method string, u *url.URL, token string) (*reply, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	u.RawQuery = "limit=0"
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Accept-Profile", p.cfg.Schema)
	if p.cfg.APIKey != "" {
		req.Header.Set("Apikey", p.cfg.APIKey)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	start := time.Now()
	res, err := p.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	r := &reply{status: res.StatusCode, header: res.Header, took: time.Since(start), sent: start}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil {
		return nil, err
	}
	var e struct {
		Code    *string `json:"code"`
		Message *string `json:"message"`
	}
	if json.Unmarshal(body, &e) == nil && e.Code != nil && e.Message != nil {
		r.code = plainCode(*e.Code)
		r.known = r.code != ""
	}
	return r, nil
}

// layers makes the first request and says how long each layer took.
func (x *examination) layers(ctx context.Context, p *postgrest) (*reply, bool) {
	var dnsStart, dnsDone, tcpStart, tcpDone, tlsStart, tlsDone time.Time
	trace := &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { dnsStart = time.Now() }, DNSDone: func(httptrace.DNSDoneInfo) { dnsDone = time.Now() },
		GotConn:           func(httptrace.GotConnInfo) { tcpDone = orNow(tcpDone, tlsStart) },
		TLSHandshakeStart: func() { tlsStart = time.Now() }, TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil {
				tlsDone = time.Now()
			}
		},
	}
	tcpStart = time.Now()
	r, err := p.get(httptrace.WithClientTrace(ctx, trace), "")
	if !dnsDone.IsZero() && net.ParseIP(p.base.Hostname()) == nil {
		tcpStart = dnsDone
	}
	if err != nil {
		x.add(requestFailure(p, err))
		return nil, false
	}
	if !dnsStart.IsZero() && !dnsDone.IsZero() {
		x.add(Finding{ID: "rest.dns", What: p.base.Hostname() + " has an address", Took: dnsDone.Sub(dnsStart)})
	}
	x.add(Finding{ID: "rest.tcp", What: "connected to " + p.base.Host, Took: max(tcpDone.Sub(tcpStart), 1)})
	if !tlsDone.IsZero() {
		x.add(Finding{ID: "rest.tls", What: "TLS, verified", Took: tlsDone.Sub(tlsStart)})
	}
	return r, true
}

// orNow is when TLS began, else now: TCP stands then.
func orNow(set, tlsStart time.Time) time.Time {
	if !set.IsZero() {
		return set
	}
	if !tlsStart.IsZero() {
		return tlsStart
	}
	return time.Now()
}

// requestFailure says which layer a request did not get past.
func requestFailure(p *postgrest, err error) Finding {
	f := Finding{ID: "rest.http", Severity: Error, What: p.base.Host + " does not answer", Mend: "check host, port and firewall"}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		f.ID, f.What, f.Mend = "rest.dns", p.base.Hostname()+" could not be looked up", "check the resolver of this machine"
		if dns.IsNotFound {
			f.What, f.Mend = p.base.Hostname()+" has no address", "check the host's spelling; on Supabase a paused project has none"
		}
		return f
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		f.ID, f.What, f.Mend = "rest.tls", "the certificate of "+p.base.Host+" is not trusted", "install ca-certificates into the image, or the CA of the gateway"
		return f
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		f.ID, f.What, f.Mend = "rest.tcp", "nobody listens at "+p.base.Host, "check the port, and whether PostgREST is up"
		return f
	}
	if errors.Is(err, context.DeadlineExceeded) {
		f.What = p.base.Host + " did not answer in time"
		return f
	}
	f.What, f.Mend = p.base.Host+" does not speak HTTP, or hung up", "check that the port is that of PostgREST or its gateway"
	return f
}

// isPostgREST judges the first answer.
func (x *examination) isPostgREST(p *postgrest, r *reply) bool {
	bad := func(what, why, mend string) {
		x.add(Finding{ID: "rest.http", Severity: Error, What: what, Why: why, Mend: mend, Took: r.took})
	}
	switch {
	case r.status == http.StatusUnauthorized && !r.known:
		bad("the gateway refuses the request (401)", "Supabase's gateway wants the header apikey", "give the project's anon or publishable key")
	case r.status >= 300 && r.status < 400:
		bad("the gateway redirects", "redirects are not followed: a token would go with them", "give the URL that it redirects to")
	case r.status >= 500 && !r.known:
		bad("the gateway answers in PostgREST's place ("+http.StatusText(r.status)+")", "PostgREST is down, or the gateway can't reach it", "look at PostgREST's log")
	case !r.known:
		bad("whoever answers there is no PostgREST", "its answer to a request for a table that doesn't exist is not PostgREST's", "check the path: on Supabase it is /rest/v1, elsewhere often the root")
	case slices.Contains([]string{"PGRST000", "PGRST001", "PGRST002", "PGRST003"}, r.code) || strings.HasPrefix(r.code, "08") || strings.HasPrefix(r.code, "53"):
		bad("PostgREST can't reach its database, "+r.code, "", "look at PostgREST's log, and at its db-uri")
	case r.code == "PGRST106":
		x.add(Finding{ID: "rest.http", What: "PostgREST answers", Took: r.took})
		x.add(Finding{ID: "rest.schema", Severity: Error, What: "schema " + plain(p.cfg.Schema) + " is not exposed", Mend: "add it to PostgREST's db-schemas, or correct the schema"})
		return true
	case r.code == "PGRST205" || r.code == "42P01":
		x.add(Finding{ID: "rest.http", What: "PostgREST answers", Took: r.took})
		x.add(Finding{ID: "rest.schema", What: "schema " + plain(p.cfg.Schema) + " is exposed"})
		return true
	case r.code == "PGRST302" || r.code == "42501":
		x.add(Finding{ID: "rest.http", What: "PostgREST answers", Took: r.took})
		x.add(Finding{
			ID: "rest.schema", Severity: Warning, What: "requests without a token are refused, " + r.code, Why: "anonymous callers can't read anything on this path",
			Mend: "set PostgREST's db-anon-role, and grant it usage on the schema, if there are anonymous callers",
		})
		return true
	default:
		bad("PostgREST answers with "+r.code, "", "see docs.postgrest.org, errors")
	}
	return false
}

func (x *examination) restVersion(p *postgrest, r *reply) {
	f := Finding{ID: "rest.version"}
	name, number, _ := strings.Cut(r.header.Get("Server"), "/")
	if strings.EqualFold(name, "postgrest") {
		p.version = plainVersion(number)
	}
	switch {
	case p.version == "":
		f.Severity, f.What = Info, "a gateway hides PostgREST's version"
		f.Mend = "give rest.Config.ServerVersion, so that PostgREST's own account of its time is used"
	case older(p.version, "14.2") && !older(p.version, "13.0.8"):
		f.Severity, f.What = Warning, "PostgREST "+p.version
		f.Why, f.Mend = "it cuts off the body of some errors, and its Server-Timing is wrong", "upgrade to 14.2 or newer"
	case older(p.version, "14.2"):
		f.Severity, f.What = Info, "PostgREST "+p.version
		f.Why, f.Mend = "its Server-Timing is wrong and not used", "upgrade to 14.2 or newer"
	default:
		f.What = "PostgREST " + p.version
	}
	x.add(f)
}

// restClock compares the header Date, which has whole seconds.
func (x *examination) restClock(r *reply) {
	date, err := http.ParseTime(r.header.Get("Date"))
	if err != nil {
		x.skipped("clock.rest", "the answer has no date")
		return
	}
	middle := r.sent.Add(r.took / 2)
	x.clock("clock.rest", "PostgREST", date.Add(500*time.Millisecond).Sub(middle), r.took/2+500*time.Millisecond)
}

// restTiming measures how long an answer takes on a connection that is open.
func (x *examination) restTiming(ctx context.Context, p *postgrest) {
	var times []time.Duration
	for range restPings {
		r, err := p.get(ctx, "")
		if err != nil {
			x.add(Finding{ID: "rest.rtt", Severity: Warning, What: "it stopped answering", Mend: "try again, and look at PostgREST's log"})
			return
		}
		times = append(times, r.took)
	}
	slices.Sort(times)
	f := rtt("rest.rtt", "an answer without rows takes", times)
	f.Mend = strings.ReplaceAll(f.Mend, "database's", "gateway's")
	x.add(f)
}
