package faulty

import (
	"bytes"
	"sync/atomic"
	"time"
)

// ProxyDirection is one of the two streams of a connection.
type ProxyDirection int

const (
	// ProxyRequests is the stream from the client to the server.
	ProxyRequests ProxyDirection = iota
	// ProxyReplies is the stream from the server to the client.
	ProxyReplies
)

// String returns "requests" or "replies".
func (d ProxyDirection) String() string {
	if d == ProxyReplies {
		return "replies"
	}
	return "requests"
}

// ProxyAction is what a fault does to a connection.
type ProxyAction string

const (
	// ProxyCut ends both streams with a FIN. Later bytes are dropped.
	ProxyCut ProxyAction = "cut"
	// ProxyReset ends both connections with a RST (SO_LINGER 0).
	ProxyReset ProxyAction = "reset"
	// ProxyHalfClose ends the fault's direction with a FIN. The other direction continues.
	ProxyHalfClose ProxyAction = "half-close"
	// ProxySwallow is a black hole: the direction's bytes are read and dropped.
	ProxySwallow ProxyAction = "swallow"
	// ProxyTrickle passes N bytes (default 1) per Interval (default 10 ms).
	ProxyTrickle ProxyAction = "trickle"
	// ProxyDelay holds the stream back for Interval (default 10 ms), once.
	ProxyDelay ProxyAction = "delay"
	// ProxySlice passes the stream in writes of 1 to N bytes (default 1460).
	ProxySlice ProxyAction = "slice"
	// ProxyFlip changes the next byte by XOR with Mask (default: a random bit).
	ProxyFlip ProxyAction = "flip"
	// ProxyInsert inserts Bytes at the point if it lies between two messages, and otherwise after
	// the message in which the point lies.
	ProxyInsert ProxyAction = "insert"
	// ProxyDelete drops the next whole message.
	ProxyDelete ProxyAction = "delete"
)

// ProxyFault is one fault: what, where, when, how often.
type ProxyFault struct {
	// Do is what happens.
	Do ProxyAction
	// On is the stream that the fault affects, and whose bytes and messages At counts.
	On ProxyDirection
	// At is the point where the fault happens. The zero value is byte 0.
	At ProxyPoint
	// Conn limits the fault to one connection, counted from 1 in the order of Accept. 0 means any.
	Conn int
	// Times is how often the fault happens: 0 and 1 mean once, negative means without end. At a byte
	// or a message it happens at most once per connection.
	Times int
	// N, Interval, Mask and Bytes are the parameters of the actions.
	N        int
	Interval time.Duration
	Mask     byte
	Bytes    []byte
}

// ProxyPoint is where a fault happens.
type ProxyPoint struct {
	kind   proxyPointKind
	n      int64
	chance float64
	match  func(request []byte) bool
	after  time.Duration
}

type proxyPointKind int

const (
	proxyAtByte proxyPointKind = iota
	proxyAtRandom
	proxyAtMessage
	proxyAtChance
	proxyAtRequest
	proxyAfter
)

// ProxyAtByte is the point after n bytes of a connection's stream. If the stream is already past
// it, the fault happens at once. It does not wait for another byte.
func ProxyAtByte(n int64) ProxyPoint { return ProxyPoint{kind: proxyAtByte, n: n} }

// ProxyAtRandomByte is ProxyAtByte with a byte below n, drawn for each
// connection.
func ProxyAtRandomByte(n int64) ProxyPoint { return ProxyPoint{kind: proxyAtRandom, n: n} }

// ProxyAtMessage is the point before message n of a connection's stream, when its first byte has
// arrived. Messages count from 0 and include the handshake, but not RESP3 pushes. The point before
// a reply therefore comes after the server has executed the request.
func ProxyAtMessage(n int) ProxyPoint { return ProxyPoint{kind: proxyAtMessage, n: int64(n)} }

// ProxyAtChance is the point before each message, with probability p.
func ProxyAtChance(p float64) ProxyPoint { return ProxyPoint{kind: proxyAtChance, chance: p} }

// ProxyAtRequest is the point before a request whose bytes match, or, on
// ProxyReplies, before that request's reply. While such a fault is armed,
// requests are forwarded only when they are complete. match is called in the
// proxy's goroutines and must not keep its argument.
func ProxyAtRequest(match func(request []byte) bool) ProxyPoint {
	return ProxyPoint{kind: proxyAtRequest, match: match}
}

// ProxyAtRequestID is ProxyAtRequest for the requests that contain id.
func ProxyAtRequestID(id string) ProxyPoint {
	return ProxyAtRequest(func(request []byte) bool { return bytes.Contains(request, []byte(id)) })
}

// ProxyAfter is the time d after Arm. The fault happens to all connections that are open then, and
// with negative Times also to those accepted later.
func ProxyAfter(d time.Duration) ProxyPoint { return ProxyPoint{kind: proxyAfter, after: d} }

// ProxyNow is ProxyAfter(0), done before Arm returns.
func ProxyNow() ProxyPoint { return ProxyAfter(0) }

// ProxyArmed is a fault that was armed.
type ProxyArmed struct {
	proxy   *Proxy
	fault   ProxyFault
	left    atomic.Int64 // firings left; negative: no end
	fired   atomic.Int64
	lasting atomic.Bool // a timed fault that new connections get too
	first   chan struct{}
	gone    chan struct{} // closed by Disarm
}

func newProxyArmed(p *Proxy, f ProxyFault) *ProxyArmed {
	if f.Interval <= 0 {
		f.Interval = 10 * time.Millisecond
	}
	if f.N <= 0 {
		f.N = 1
		if f.Do == ProxySlice {
			f.N = 1460
		}
	}
	a := &ProxyArmed{proxy: p, fault: f, first: make(chan struct{}), gone: make(chan struct{})}
	a.left.Store(int64(f.Times))
	if f.Times == 0 {
		a.left.Store(1)
	}
	return a
}

// Fired returns how often the fault has happened.
func (a *ProxyArmed) Fired() int { return int(a.fired.Load()) }

// First returns a channel that is closed when the fault happens for the first time.
func (a *ProxyArmed) First() <-chan struct{} { return a.first }

// Disarm keeps the fault from happening again. A lasting fault (swallow, trickle, slice) continues
// where it has begun: see Proxy.Heal.
func (a *ProxyArmed) Disarm() { a.proxy.disarm(a) }

// take counts one firing. It returns false if none is left or the fault is disarmed.
func (a *ProxyArmed) take() bool {
	select {
	case <-a.gone: // between the request that it waits for and that one's reply
		return false
	default:
	}
	for {
		left := a.left.Load()
		if left == 0 {
			return false
		}
		if left > 0 && !a.left.CompareAndSwap(left, left-1) {
			continue
		}
		if a.fired.Add(1) == 1 {
			close(a.first)
		}
		a.proxy.count(a.fault.Do)
		return true
	}
}

func (a *ProxyArmed) on(link *proxyLink, d ProxyDirection) bool {
	return a.fault.On == d && (a.fault.Conn == 0 || a.fault.Conn == link.num)
}
