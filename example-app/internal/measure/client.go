package measure

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"syscall"
	"time"
)

const maxHeader = 64 << 10

// client asks one probe, over connections that nothing else uses and that are kept.
type client struct {
	target    Target
	auth      string
	timeout   time.Duration
	transport *http.Transport

	mu        sync.Mutex
	connected bool // a connection has been made before
}

func newClient(t Target, cfg *Config) *client {
	plain := &http.Protocols{} // one connection a request at work, so that its cost can be seen
	plain.SetHTTP1(true)
	return &client{target: t, auth: cfg.Authorization, timeout: cfg.Timeout, transport: &http.Transport{
		DialContext:            (&net.Dialer{Timeout: cfg.Timeout}).DialContext,
		MaxIdleConns:           0,
		MaxIdleConnsPerHost:    cfg.Concurrency,
		IdleConnTimeout:        0, // kept until the server closes them
		Protocols:              plain,
		MaxResponseHeaderBytes: maxHeader,
	}}
}

func (c *client) close() { c.transport.CloseIdleConnections() }

// connecting measures how a request comes by its connection. Its callbacks may come from several
// goroutines, even after the request.
type connecting struct {
	mu       sync.Mutex
	asked    time.Time
	got      time.Time
	spent    time.Duration // for connections that were made for this request
	made     bool
	finished bool
}

func (t *connecting) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.asked = time.Now()
		},
		GotConn: func(info httptrace.GotConnInfo) {
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.finished {
				return
			}
			t.got = time.Now()
			if !info.Reused {
				t.made = true
				t.spent += t.got.Sub(t.asked)
			}
		},
	}
}

// end returns what was measured and ignores what comes later.
func (t *connecting) end() (got time.Time, spent time.Duration, made bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finished = true
	return t.got, t.spent, t.made
}

// ask sends one request and completes the sample, whose Intended is set.
func (c *client) ask(ctx context.Context, s *Sample) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	conn := &connecting{}
	s.Mode = c.target.Name
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, conn.trace()), http.MethodGet, c.target.URL, nil)
	if err != nil {
		s.Start, s.Err = s.Intended, &Failure{NotAProbe, "the address can't be asked for"}
		return
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "twinpath-measure")
	if c.auth != "" {
		req.Header.Set("Authorization", c.auth)
	}
	s.Start = time.Now()
	s.Delay = max(s.Start.Sub(s.Intended), 0)
	resp, err := c.transport.RoundTrip(req) // which follows no redirects
	if err != nil {
		s.Err = c.whyNot(err)
	} else {
		s.readAnswer(resp)
		_ = resp.Body.Close() // an unread rest costs the connection, and is no probe's
	}
	end := time.Now()
	got, spent, made := conn.end()
	s.Connect = spent
	if got.IsZero() {
		got = end // it never had one
	}
	s.Client = end.Sub(got)
	if made {
		c.mu.Lock()
		s.Reconnected, c.connected = c.connected && !s.WarmUp, true
		c.mu.Unlock()
	}
}

// whyNot says in words of its own why there was no answer.
func (c *client) whyNot(err error) *Failure {
	text := "no answer: the connection broke"
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.Canceled):
		text = "interrupted"
	case errors.Is(err, context.DeadlineExceeded):
		text = fmt.Sprintf("no answer within %s", c.timeout)
	case errors.Is(err, syscall.ECONNREFUSED):
		text = "connection refused: is the app running, and on this port?"
	case errors.As(err, &dns):
		text = "the host's name is not known"
	case errors.As(err, &cert):
		text = "the server's certificate is not trusted"
	case errors.As(err, new(tls.RecordHeaderError)):
		text = "the server does not speak TLS: write http:// instead of https://"
	}
	return &Failure{NoAnswer, text}
}
