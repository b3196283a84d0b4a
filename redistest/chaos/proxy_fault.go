package chaos

import (
	"bytes"
	"sync/atomic"
	"time"
)

// Direction is one of the two streams of a connection.
type Direction int

const (
	// Requests is the stream from the client to the server.
	Requests Direction = iota
	// Replies is the stream from the server to the client.
	Replies
	// Both are both streams. Each of them reaches the point of a fault separately.
	Both
)

// String returns "requests", "replies" or "both".
func (d Direction) String() string {
	return [...]string{"requests", "replies", "both"}[min(max(d, Requests), Both)]
}

// Action is what a fault does to a connection.
type Action string

const (
	// Cut ends both streams with a FIN. Later bytes are dropped.
	Cut Action = "cut"
	// Reset ends both connections with a RST (SO_LINGER 0).
	Reset Action = "reset"
	// HalfClose ends the fault's direction with a FIN. The other direction continues.
	HalfClose Action = "half-close"
	// Swallow is a black hole: the direction's bytes are read and dropped.
	Swallow Action = "swallow"
	// Trickle passes N bytes (default 1) per Interval (default 10 ms).
	Trickle Action = "trickle"
	// Delay holds the stream back for Interval (default 10 ms), once.
	Delay Action = "delay"
	// Slice passes the stream in writes of 1 to N bytes (default 1460).
	Slice Action = "slice"
	// Flip changes the next byte by XOR with Mask (default: a random bit).
	Flip Action = "flip"
	// Insert inserts Bytes at the point, or, if the point is within a message, after that message.
	Insert Action = "insert"
	// Delete drops the next whole message.
	Delete Action = "delete"
	// Refuse stops a request and answers it with Answer, in order with the other replies. Instead
	// of the request, the server gets an ECHO without an argument, which it refuses. On must be
	// Requests or Both.
	Refuse Action = "refuse"
)

// Fault is one fault: what, where, when, how often.
type Fault struct {
	// Do is the action.
	Do Action
	// On is the stream that the fault affects, and whose bytes and messages At counts.
	On Direction
	// At is the point where the fault happens. The zero value is byte 0.
	At Point
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
	// Answer returns the whole reply to a request that Refuse stops, in the form in which it is
	// sent. It is called in the proxy's goroutines. nil means an error.
	Answer func(args []string) string
}

// Point is where a fault happens.
type Point struct {
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

// AtByte is the point after n bytes of a connection's stream. If the stream is already past
// it, the fault happens at once. It does not wait for another byte.
func AtByte(n int64) Point { return Point{kind: proxyAtByte, n: n} }

// AtRandomByte is AtByte with a byte below n, drawn for each
// connection.
func AtRandomByte(n int64) Point { return Point{kind: proxyAtRandom, n: n} }

// AtMessage is the point before message n of a connection's stream, when its first byte has
// arrived. Messages count from 0 and include the handshake, but not RESP3 pushes. The point before
// a reply therefore comes after the server has executed the request.
func AtMessage(n int) Point { return Point{kind: proxyAtMessage, n: int64(n)} }

// AtChance is the point before each message, with probability p.
func AtChance(p float64) Point { return Point{kind: proxyAtChance, chance: p} }

// AtRequest is the point before a request for whose bytes match returns true or, on Replies, before
// the reply to such a request. While such a fault is armed, requests are forwarded only when they
// are complete. match is called in the proxy's goroutines and must not keep its argument.
func AtRequest(match func(request []byte) bool) Point {
	return Point{kind: proxyAtRequest, match: match}
}

// AtCommand is AtRequest with a match of the command and its arguments.
func AtCommand(match func(args []string) bool) Point {
	return AtRequest(func(request []byte) bool { return match(parseRequest(string(request))) })
}

// AtRequestID is AtRequest for the requests that contain id.
func AtRequestID(id string) Point {
	return AtRequest(func(request []byte) bool { return bytes.Contains(request, []byte(id)) })
}

// After is the time d after Arm. The fault happens to all connections that are open then, and
// with negative Times also to those accepted later.
func After(d time.Duration) Point { return Point{kind: proxyAfter, after: d} }

// Now is After(0). The fault has happened when Arm returns.
func Now() Point { return After(0) }

// Armed is a fault that was armed.
type Armed struct {
	proxy   *Proxy
	fault   Fault
	left    atomic.Int64 // how often the fault may still happen; negative: without end
	fired   atomic.Int64
	lasting atomic.Bool // the fault has a time, and also happens to new connections
	first   chan struct{}
	gone    chan struct{} // closed by Disarm
}

func newArmed(p *Proxy, f Fault) *Armed {
	if f.Interval <= 0 {
		f.Interval = 10 * time.Millisecond
	}
	if f.N <= 0 {
		f.N = 1
		if f.Do == Slice {
			f.N = 1460
		}
	}
	if f.Answer == nil {
		f.Answer = func([]string) string { return "-ERR refused by a proxy\r\n" }
	}
	a := &Armed{proxy: p, fault: f, first: make(chan struct{}), gone: make(chan struct{})}
	a.left.Store(int64(f.Times))
	if f.Times == 0 {
		a.left.Store(1)
	}
	return a
}

// Fired returns how often the fault has happened.
func (a *Armed) Fired() int { return int(a.fired.Load()) }

// First returns a channel that is closed when the fault happens for the first time.
func (a *Armed) First() <-chan struct{} { return a.first }

// Disarm keeps the fault from happening again. A lasting fault (swallow, trickle, slice) continues
// where it has begun: see Proxy.Heal.
func (a *Armed) Disarm() { a.proxy.disarm(a) }

// take counts that the fault happens once more. It returns false if it may not, or if it is
// disarmed.
func (a *Armed) take() bool {
	select {
	case <-a.gone: // disarmed between the request and its reply
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

func (a *Armed) on(link *proxyLink, d Direction) bool {
	return (a.fault.On == d || a.fault.On == Both) && (a.fault.Conn == 0 || a.fault.Conn == link.num)
}
