package chaos

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// ProxyOpts are the options of a Proxy. The zero value is useful.
type ProxyOpts struct {
	// Addr is the address to listen on, "host:port". The default is a free port of 127.0.0.1.
	Addr string
	// Seed makes the random parts (slices, chances, random bytes and bits) reproducible. Each stream
	// has its own source, made from Seed and the number of its connection.
	Seed int64
	// LogLimit is how many of the latest requests, or at least half of them, stay in the log. 0
	// means 100,000; a negative value keeps none.
	LogLimit int
	// DialTimeout bounds the dial to the server; 0 is 5 s.
	DialTimeout time.Duration
}

// Proxy stands between clients and a server, and causes network faults at exact places: see
// [Fault], and presets such as [Freeze]. It knows where RESP2 and RESP3 messages begin and end, and
// keeps a log of the requests that it saw. If a stream is not RESP, such as TLS, the proxy only
// counts bytes.
//
// All methods may be called at any time from any goroutine.
type Proxy struct {
	opts     ProxyOpts
	listener net.Listener
	done     chan struct{}
	wg       sync.WaitGroup
	armed    atomic.Pointer[[]*Armed] // replaced, never changed, under mu
	log      *proxyLog
	messages [2]atomic.Int64 // complete messages, by direction

	mu     sync.Mutex // guards the rest
	target string
	refuse bool
	closed bool
	links  map[*proxyLink]struct{}
	healed chan struct{} // closed and renewed by Heal
	dials  []time.Time
	stats  ProxyStats
}

// ProxyStats are the totals of a Proxy.
type ProxyStats struct {
	// Accepted counts all connections. Open is the number of connections that are open now.
	Accepted, Open int
	// Requests and Replies count complete messages that arrived.
	Requests, Replies int64
	// Faults counts how often faults happened, by action. A fault with a time counts once.
	Faults map[Action]int
}

// ListenProxy starts a Proxy in front of target ("host:port", TCP). Call Close.
func ListenProxy(target string, opts ProxyOpts) (*Proxy, error) {
	if opts.Addr == "" {
		opts.Addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", opts.Addr)
	if err != nil {
		return nil, err
	}
	if opts.LogLimit == 0 {
		opts.LogLimit = 100_000
	}
	if opts.DialTimeout <= 0 {
		opts.DialTimeout = 5 * time.Second
	}
	p := &Proxy{
		opts: opts, listener: l, target: target,
		done: make(chan struct{}), healed: make(chan struct{}),
		links: map[*proxyLink]struct{}{},
		log:   &proxyLog{limit: max(opts.LogLimit, 0)},
		stats: ProxyStats{Faults: map[Action]int{}},
	}
	p.armed.Store(&[]*Armed{})
	p.wg.Add(1)
	go p.accept()
	return p, nil
}

// NewProxy is ListenProxy for a test: it fails the test on an error, and
// closes the proxy when the test ends.
func NewProxy(t testing.TB, target string, opts ProxyOpts) *Proxy {
	t.Helper()
	p, err := ListenProxy(target, opts)
	if err != nil {
		t.Fatalf("chaos: proxy: %v", err)
	}
	t.Cleanup(p.Close)
	return p
}

// Addr returns the address that clients dial.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// SetTarget changes the server for the connections accepted from now on.
func (p *Proxy) SetTarget(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = addr
}

// Refuse(true) makes the proxy reset new connections as soon as they are accepted, until
// Refuse(false). It does not affect open connections.
func (p *Proxy) Refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = on
}

// Arm makes a fault happen when its point is reached. It may be called while connections are open.
func (p *Proxy) Arm(f Fault) *Armed {
	a := newArmed(p, f)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return a
	}
	if f.At.kind == proxyAfter && f.At.after <= 0 {
		p.fireLocked(a)
	} else if f.At.kind == proxyAfter {
		p.wg.Add(1)
		go p.fireLater(a)
	}
	armed := append([]*Armed{a}, *p.armed.Load()...)
	p.armed.Store(&armed)
	return a
}

// fireLater is the goroutine of a fault with a time. Arm starts it. It ends when the fault has
// happened or was disarmed, or when the proxy is closed.
func (p *Proxy) fireLater(a *Armed) {
	defer p.wg.Done()
	timer := time.NewTimer(a.fault.At.after)
	defer timer.Stop()
	select {
	case <-timer.C:
		p.mu.Lock()
		defer p.mu.Unlock()
		select {
		case <-a.gone: // Heal has disarmed the fault just now
		default:
			p.fireLocked(a)
		}
	case <-a.gone:
	case <-p.done:
	}
}

func (p *Proxy) fireLocked(a *Armed) {
	if a.left.Load() == 0 {
		return
	}
	if a.left.Load() > 0 {
		a.left.Store(0)
	} else {
		a.lasting.Store(true)
	}
	a.fired.Add(1)
	close(a.first)
	p.stats.Faults[a.fault.Do]++
	for link := range p.links {
		link.now(a)
	}
}

func (p *Proxy) disarm(a *Armed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var armed []*Armed
	for _, other := range *p.armed.Load() {
		if other != a {
			armed = append(armed, other)
		}
	}
	if len(armed) < len(*p.armed.Load()) {
		close(a.gone)
	}
	p.armed.Store(&armed)
}

// Heal disarms all faults and ends lasting faults: streams pass unhindered again, and current
// delays end. Connections whose bytes were swallowed are reset, since TCP never continues after a
// gap.
func (p *Proxy) Heal() {
	for _, a := range *p.armed.Load() {
		p.disarm(a)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for link := range p.links {
		link.heal()
	}
	close(p.healed)
	p.healed = make(chan struct{})
}

// healing returns a channel that the next Heal closes.
func (p *Proxy) healing() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.healed
}

// Log returns the requests that have arrived, in the order of their first bytes. Bytes are logged
// before they are forwarded. Forwarded, Delivered and Replied are set slightly after the peer may
// have got the bytes.
func (p *Proxy) Log() []LoggedRequest { return p.log.take(false) }

// TakeLog is Log, and empties the log. Call it while nothing is in flight, because it also drops
// requests that have arrived in part.
func (p *Proxy) TakeLog() []LoggedRequest { return p.log.take(true) }

// proxyDials bounds the list of Dials, for proxies that run for days.
const proxyDials = 100_000

// Dials returns the time when each of the first 100,000 connections was accepted, including refused
// ones.
func (p *Proxy) Dials() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Time(nil), p.dials...)
}

// Stats returns the totals so far.
func (p *Proxy) Stats() ProxyStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.stats
	stats.Open = len(p.links)
	stats.Requests = p.messages[Requests].Load()
	stats.Replies = p.messages[Replies].Load()
	stats.Faults = map[Action]int{}
	for action, n := range p.stats.Faults {
		stats.Faults[action] = n
	}
	return stats
}

func (p *Proxy) count(action Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Faults[action]++
}

// Close ends the listener and all connections, and waits for the proxy's
// goroutines.
func (p *Proxy) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.done)
		_ = p.listener.Close()
		for link := range p.links {
			link.close()
		}
	}
	p.mu.Unlock()
	p.wg.Wait()
}
