package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"
)

// siteServer is the HTTP server at work.
type siteServer struct {
	http   *http.Server
	failed chan error // gets the reason when it ends before its time
	cancel context.CancelFunc
	done   chan struct{}
}

// startServer serves on l. Requests' contexts end with stop.
func startServer(l net.Listener, h http.Handler, errorLog *log.Logger) *siteServer {
	ctx, cancel := context.WithCancel(context.Background())
	s := &siteServer{
		http: &http.Server{
			Handler:           h,
			ReadHeaderTimeout: 10 * time.Second,
			IdleTimeout:       time.Minute,
			ErrorLog:          errorLog,
			BaseContext:       func(net.Listener) context.Context { return ctx },
		},
		failed: make(chan error, 1), cancel: cancel, done: make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("serve: %w", err)
		}
	}()
	return s
}

// drain takes no more requests and lets those that run end, for a while.
func (s *siteServer) drain() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownPatience)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		s.cancel() // those that are left end now
		return nil
	}
	return err
}

// stop ends the server and every request. It may follow drain.
func (s *siteServer) stop() error {
	s.cancel()
	err := s.http.Close()
	<-s.done
	return err
}
