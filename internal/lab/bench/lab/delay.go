package lab

import (
	"net"
	"sync"
	"time"
)

const (
	// delayChunk is how many bytes are read at once, at most. delayQueue is the number of chunks
	// that may be on their way in one direction. Together they allow far more bytes than loopback
	// carries during the longest delay.
	delayChunk = 64 << 10
	delayQueue = 1 << 16
	// delaySocket is the size of the sockets' buffers. It is large, so that no write waits for its
	// receiver, because all connections share the goroutine that writes.
	delaySocket = 4 << 20
)

// Delay is a TCP proxy that forwards every byte after a fixed delay, like a longer wire. It does
// not change the bandwidth.
type Delay struct {
	listener net.Listener
	target   string
	oneWay   time.Duration
	up, down chan parcel
	done     chan struct{}

	mu    sync.Mutex // guards conns and shut
	conns map[net.Conn]struct{}
	shut  bool
}

// parcel is the result of one read. A parcel without bytes marks the end of the stream.
type parcel struct {
	due   time.Time
	to    *net.TCPConn
	bytes []byte
}

// ListenDelay starts a proxy in front of target that adds roundTrip to every round trip. Close it.
//
// It starts one goroutine that accepts. For each connection it starts two that read, and two that
// write when the bytes are due. Close ends all of them.
func ListenDelay(target string, roundTrip time.Duration) (*Delay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &Delay{
		listener: l, target: target, oneWay: roundTrip / 2,
		up: make(chan parcel, delayQueue), down: make(chan parcel, delayQueue),
		done: make(chan struct{}), conns: map[net.Conn]struct{}{},
	}
	go d.accept()
	go d.deliver(d.up)
	go d.deliver(d.down)
	return d, nil
}

// Addr is the address that clients dial.
func (d *Delay) Addr() string { return d.listener.Addr().String() }

// Close ends the listener and all connections.
func (d *Delay) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		return
	}
	d.shut = true
	close(d.done)
	_ = d.listener.Close()
	for c := range d.conns {
		_ = c.Close()
	}
}

func (d *Delay) accept() {
	for {
		client, err := d.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", d.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		a, b := client.(*net.TCPConn), server.(*net.TCPConn)
		if !d.keep(a) || !d.keep(b) {
			return
		}
		go d.read(a, b, d.up)
		go d.read(b, a, d.down)
	}
}

// keep registers a connection for Close. It returns false if the proxy is closed already.
func (d *Delay) keep(c *net.TCPConn) bool {
	_ = c.SetReadBuffer(delaySocket)
	_ = c.SetWriteBuffer(delaySocket)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		_ = c.Close()
		return false
	}
	d.conns[c] = struct{}{}
	return true
}

func (d *Delay) read(from, to *net.TCPConn, queue chan<- parcel) {
	buf := make([]byte, delayChunk)
	for {
		n, err := from.Read(buf)
		p := parcel{due: time.Now().Add(d.oneWay), to: to}
		if n > 0 {
			p.bytes = append(p.bytes, buf[:n]...)
		}
		if n > 0 && !d.put(queue, p) {
			return
		}
		if err != nil {
			d.put(queue, parcel{due: p.due, to: to})
			return
		}
	}
}

// put puts a parcel into a queue. It returns false when the proxy is closed.
func (d *Delay) put(queue chan<- parcel, p parcel) bool {
	select {
	case queue <- p:
		return true
	case <-d.done:
		return false
	}
}

// deliver writes the parcels of one direction. They become due in the order in which they arrived,
// because all delays are equal.
func (d *Delay) deliver(queue <-chan parcel) {
	wait := PreciseSleeper()
	for {
		select {
		case p := <-queue:
			wait(time.Until(p.due))
			if p.bytes == nil {
				_ = p.to.CloseWrite()
			} else if _, err := p.to.Write(p.bytes); err != nil {
				_ = p.to.Close()
			}
		case <-d.done:
			return
		}
	}
}
