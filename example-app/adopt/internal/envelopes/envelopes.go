// Package envelopes takes what a Sentry client sends, for the tests of the examples
// beside it.
package envelopes

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Server stands in for Sentry.
type Server struct {
	srv *httptest.Server

	mu           sync.Mutex
	raw          bytes.Buffer
	transactions []Transaction
	problems     []string
}

// Transaction is what is asked of one here.
type Transaction struct {
	Name     string `json:"transaction"`
	Contexts struct {
		Trace Span `json:"trace"`
	} `json:"contexts"`
	Spans []Span `json:"spans"`
}

// Span is what is asked of one here.
type Span struct {
	ID          string         `json:"span_id"`
	Parent      string         `json:"parent_span_id"`
	Op          string         `json:"op"`
	Description string         `json:"description"`
	Status      string         `json:"status"`
	Data        map[string]any `json:"data"`
}

// Start starts a server on loopback. Whoever starts it closes it.
func Start() *Server {
	s := &Server{}
	s.srv = httptest.NewServer(http.HandlerFunc(s.take))
	return s
}

// Close stops the server.
func (s *Server) Close() { s.srv.Close() }

// DSN is what to tell the client.
func (s *Server) DSN() string {
	return strings.Replace(s.srv.URL, "http://", "http://key@", 1) + "/1"
}

func (s *Server) take(_ http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			s.note(err)
			return
		}
		body = z
	}
	b, err := io.ReadAll(body)
	if err != nil {
		s.note(err)
		return
	}
	s.mu.Lock()
	s.raw.Write(b)
	s.mu.Unlock()
	if err := s.read(bufio.NewReader(bytes.NewReader(b))); err != nil {
		s.note(err)
	}
}

// read reads an envelope: a header, and items that have a header each.
// Source: https://develop.sentry.dev/sdk/data-model/envelopes/
func (s *Server) read(r *bufio.Reader) error {
	if _, err := r.ReadBytes('\n'); err != nil {
		return fmt.Errorf("envelope without items: %w", err)
	}
	for {
		head, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(head)) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		var item struct {
			Type   string `json:"type"`
			Length *int   `json:"length"`
		}
		if err := json.Unmarshal(head, &item); err != nil {
			return err
		}
		var payload []byte
		if item.Length != nil {
			payload = make([]byte, *item.Length)
			_, err = io.ReadFull(r, payload)
			_, _ = r.Discard(1) // the line's end, which the last one may lack
		} else if payload, err = r.ReadBytes('\n'); err == io.EOF {
			err = nil
		}
		if err != nil {
			return err
		}
		if item.Type != "transaction" {
			continue
		}
		var tx Transaction
		if err := json.Unmarshal(payload, &tx); err != nil {
			return err
		}
		s.mu.Lock()
		s.transactions = append(s.transactions, tx)
		s.mu.Unlock()
	}
}

func (s *Server) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, err.Error())
}

// Received returns the transactions received so far, and all envelopes as they
// were; the error tells what could not be read.
func (s *Server) Received() ([]Transaction, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.problems != nil {
		return nil, "", fmt.Errorf("envelopes: %s", strings.Join(s.problems, "; "))
	}
	return s.transactions, s.raw.String(), nil
}
