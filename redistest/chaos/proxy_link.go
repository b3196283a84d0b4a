package chaos

import (
	"math/rand"
	"net"
	"sync"
	"time"
)

// accept is the goroutine of the listener. It ends with Close.
func (p *Proxy) accept() {
	defer p.wg.Done()
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			select {
			case <-p.done:
				return
			case <-time.After(5 * time.Millisecond): // out of descriptors, or aborted by the peer
				continue
			}
		}
		if link := p.admit(conn.(*net.TCPConn)); link != nil {
			go link.run()
		}
	}
}

// admit registers a connection, or resets it.
func (p *Proxy) admit(conn *net.TCPConn) *proxyLink {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.dials) < proxyDials {
		p.dials = append(p.dials, time.Now())
	}
	if p.refuse || p.closed {
		resetConn(conn)
		return nil
	}
	p.stats.Accepted++
	link := &proxyLink{
		proxy: p, num: p.stats.Accepted, target: p.target,
		client: conn, done: make(chan struct{}),
		marked: map[int][]*Armed{}, answers: map[int]string{},
	}
	for d := range link.pumps {
		seed := p.opts.Seed*1_000_003 + int64(link.num)*2 + int64(d)
		link.pumps[d] = &proxyPump{
			link: link, dir: Direction(d),
			rnd:   rand.New(rand.NewSource(seed)),
			fired: map[*Armed]bool{}, drawn: map[*Armed]int64{},
		}
	}
	for _, a := range *p.armed.Load() {
		if a.lasting.Load() {
			link.now(a)
		}
	}
	p.links[link] = struct{}{}
	p.wg.Add(1)
	return link
}

// proxyLink is a client's connection together with its connection to the server. Its goroutine,
// run, starts a pump for each direction and waits for both.
type proxyLink struct {
	proxy  *Proxy
	num    int
	target string
	client *net.TCPConn
	done   chan struct{} // closed by close
	pumps  [2]*proxyPump

	mu     sync.Mutex // guards the rest
	server *net.TCPConn
	closed bool
	cutOff bool
	// marked holds the faults due before a reply, by the reply's index.
	marked map[int][]*Armed
	// answers holds the proxy's own replies, by the index of the server's reply that each replaces.
	answers map[int]string
	// waiting holds the log entries of requests that have no reply yet.
	waiting []*proxyEntry
}

func (l *proxyLink) run() {
	defer l.proxy.wg.Done()
	defer l.forget()
	conn, err := net.DialTimeout("tcp", l.target, l.proxy.opts.DialTimeout)
	if err != nil {
		l.reset()
		return
	}
	l.mu.Lock()
	l.server = conn.(*net.TCPConn)
	closed, cutOff := l.closed, l.cutOff
	l.mu.Unlock()
	switch {
	case closed:
		_ = conn.Close()
		return
	case cutOff:
		l.cut()
	}
	l.pumps[Requests].src, l.pumps[Requests].dst = l.client, l.server
	l.pumps[Replies].src, l.pumps[Replies].dst = l.server, l.client
	var wg sync.WaitGroup
	for _, pump := range l.pumps {
		wg.Go(pump.run)
	}
	wg.Wait()
	l.close()
}

func (l *proxyLink) forget() {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	delete(l.proxy.links, l)
}

// now applies a fault whose time has come. It does not wait for the pumps.
func (l *proxyLink) now(a *Armed) {
	if a.fault.Conn != 0 && a.fault.Conn != l.num {
		return
	}
	for _, pump := range l.pumps {
		if !a.on(l, pump.dir) {
			continue
		}
		switch a.fault.Do {
		case Cut:
			l.cut()
		case Reset:
			l.reset()
		case HalfClose:
			l.halfClose(pump)
		case Swallow, Trickle, Slice:
			pump.last(a)
		default:
			pump.postpone(a)
		}
	}
}

// heal ends lasting faults.
func (l *proxyLink) heal() {
	for _, pump := range l.pumps {
		pump.shape.Store(nil)
		pump.forgive()
		if pump.lost.Load() {
			l.reset()
		}
		pump.swallow.Store(false)
	}
}

// cut sends a FIN in both directions. The pumps continue to read, and drop the bytes, so that the
// FIN does not become a RST.
func (l *proxyLink) cut() {
	for _, pump := range l.pumps {
		pump.shut.Store(true)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cutOff = true
	_ = l.client.CloseWrite()
	if l.server != nil {
		_ = l.server.CloseWrite()
	}
}

func (l *proxyLink) halfClose(pump *proxyPump) {
	pump.shut.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if pump.dir == Replies {
		_ = l.client.CloseWrite()
	} else if l.server != nil {
		_ = l.server.CloseWrite()
	}
}

func (l *proxyLink) reset() { l.end(resetConn) }

func (l *proxyLink) close() { l.end(func(c *net.TCPConn) { _ = c.Close() }) }

func (l *proxyLink) end(how func(*net.TCPConn)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	close(l.done)
	how(l.client)
	if l.server != nil {
		how(l.server)
	}
}

func resetConn(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

// mark records the faults due before the reply to a request.
func (l *proxyLink) mark(index int, a *Armed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marked[index] = append(l.marked[index], a)
}

func (l *proxyLink) takeMarked(index int) []*Armed {
	l.mu.Lock()
	defer l.mu.Unlock()
	marked := l.marked[index]
	delete(l.marked, index)
	return marked
}

// answer records the proxy's own reply to a request.
func (l *proxyLink) answer(index int, reply string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers[index] = reply
}

// takeAnswer returns the proxy's own reply at an index, or "".
func (l *proxyLink) takeAnswer(index int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	reply := l.answers[index]
	delete(l.answers, index)
	return reply
}

// await records that the reply to e comes after all earlier replies. A nil e is a request that the
// proxy has inserted.
func (l *proxyLink) await(e *proxyEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, e)
}

// answered removes the entry of the oldest request without a reply, and returns it or nil.
func (l *proxyLink) answered() *proxyEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		return nil
	}
	e := l.waiting[0]
	l.waiting = l.waiting[1:]
	return e
}
