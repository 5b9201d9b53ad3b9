package wireproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// Config describes a proxy.
type Config struct {
	// Target is the host:port to connect to. Required.
	Target string

	// Listen is the host:port to listen on. Defaults to 127.0.0.1:0, any free port on loopback.
	Listen string

	// Delay is added in each direction: half a round trip. Defaults to 0, none. [Proxy.SetDelay]
	// changes it.
	Delay time.Duration

	// DialTimeout bounds connecting to the target. Defaults to 10 s.
	DialTimeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.DialTimeout == 0 {
		c.DialTimeout = 10 * time.Second
	}
	return c
}

func (c Config) validate() error {
	var errs []error
	if _, _, err := net.SplitHostPort(c.Target); err != nil {
		errs = append(errs, errors.New("wireproxy: Target must be a host:port"))
	}
	if c.Delay < 0 {
		errs = append(errs, fmt.Errorf("wireproxy: Delay is %s; use 0 or more", c.Delay))
	}
	if c.DialTimeout < 0 {
		errs = append(errs, fmt.Errorf("wireproxy: DialTimeout is %s; use 0 for the default, or more", c.DialTimeout))
	}
	return errors.Join(errs...)
}

// Proxy forwards TCP connections to one address. Its methods may be called from several goroutines.
type Proxy struct {
	cfg  Config
	addr string
	port int

	ctx    context.Context // ends with Close; bounds dials and waits
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex // guards what follows, and the counts of all links
	listener net.Listener
	delay    time.Duration
	stalled  bool
	harm     Harm
	harmed   int64         // the last connection opened before it
	changed  chan struct{} // closed and replaced whenever something waited for changes
	nextID   int64
	links    map[*link]struct{} // open
	ended    []ConnStats        // closed since the last Reset, at most maxEnded
	total    Stats
	closed   bool
}

// maxEnded is the number of closed connections whose counts are kept.
const maxEnded = 1024

// Start listens and forwards until [Proxy.Close].
func Start(cfg Config) (*Proxy, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("wireproxy: listen: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Proxy{
		cfg: cfg, addr: l.Addr().String(), port: l.Addr().(*net.TCPAddr).Port, ctx: ctx, cancel: cancel,
		listener: l, delay: cfg.Delay, changed: make(chan struct{}), links: make(map[*link]struct{}),
	}
	p.wg.Go(func() { p.accept(l) })
	return p, nil
}

// Addr returns the host:port to connect to.
func (p *Proxy) Addr() string { return p.addr }

// Port returns the TCP port to connect to.
func (p *Proxy) Port() int { return p.port }

func (p *Proxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of file descriptors, most likely: connections that end will help.
			select {
			case <-p.ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
				continue
			}
		}
		p.mu.Lock()
		if p.closed || p.listener != l {
			p.mu.Unlock()
			reset(client)
			continue
		}
		p.nextID++
		ln := newLink(p, p.nextID, client, time.Now().Add(2*p.delay))
		p.links[ln] = struct{}{}
		p.total.Accepted++
		p.wg.Go(ln.run)
		p.mu.Unlock()
	}
}

// SetDelay changes the delay of each direction for what is read from now on.
func (p *Proxy) SetDelay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = max(0, d)
}

// Close ends all connections and waits until nothing of the proxy runs any more, or ctx ends.
// Closing twice does nothing.
func (p *Proxy) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.cancel()
	err := p.closeListener()
	p.notify()
	links := p.openLinks()
	p.mu.Unlock()
	for _, ln := range links {
		ln.cut(reset)
	}
	done := make(chan struct{})
	go func() {
		p.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return err
	case <-ctx.Done():
		return errors.Join(err, ctx.Err())
	}
}

// closeListener stops listening. The caller holds p.mu.
func (p *Proxy) closeListener() error {
	if p.listener == nil {
		return nil
	}
	err := p.listener.Close()
	p.listener = nil
	return err
}

// openLinks returns the open connections in the order they were opened. The caller holds p.mu.
func (p *Proxy) openLinks() []*link {
	links := make([]*link, 0, len(p.links))
	for ln := range p.links {
		links = append(links, ln)
	}
	slices.SortFunc(links, func(a, b *link) int { return int(a.stats.ID - b.stats.ID) })
	return links
}

// notify wakes everybody who waits for a change. The caller holds p.mu.
func (p *Proxy) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
}
