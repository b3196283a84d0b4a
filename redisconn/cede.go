package redisconn

import (
	"net"
	"sync/atomic"
	"time"
)

// A server on the same machine needs a processor, too. When the threads of the
// client occupy them all, the system lets a server that a write has woken wait
// until one of them sleeps: client and server then work in turns. So who has
// written cedes its processor, once, if the server shares the machine. Two
// cores, µs per request with and without it: 2 goroutines 18.5 and 22.5, 8: 7.3
// and 8.4, 128: 1.75 and 2.45, 1000: 1.55 and 1.85.
//
// Where nobody waits for a processor, this is a system call that returns at
// once. Where others wait as well as the server, one of them may run for all
// the time that the system gives at once, some milliseconds. What is lost so
// is bounded.
const (
	// foreignTurn is the least that ceding takes to count as lost: the server
	// was seen to take up to 0.5 ms, other processes 1 to 4 ms.
	foreignTurn = time.Millisecond
	// foreignPrice bounds the lost share of the time: one in so many. With two
	// busy processes on two cores, 8 goroutines took 143 µs per request without
	// a bound. The server's own long turns, with 1000 goroutines, are as rare.
	foreignPrice = 16
	// foreignCredit is what may be lost at once before that counts.
	foreignCredit = 10 * time.Millisecond
)

// ceding decides when to cede the processor.
type ceding struct {
	local bool // the server shares the machine
	began time.Time
	// repaid is when what was lost will be repaid, since began.
	repaid atomic.Int64
}

func newCeding(conn net.Conn) *ceding {
	return &ceding{local: isLocal(conn.LocalAddr(), conn.RemoteAddr()), began: time.Now()}
}

// cede lets the server run. The caller must not have the right to write.
func (c *ceding) cede() {
	if !c.local {
		return
	}
	before := time.Since(c.began)
	if !c.may(before) {
		return
	}
	cedeProcessor()
	after := time.Since(c.began)
	c.account(after, after-before)
}

// may tells whether to cede at a time since began.
func (c *ceding) may(now time.Duration) bool {
	return time.Duration(c.repaid.Load())-now <= foreignPrice*foreignCredit
}

// account is told how long ceding took, and when it ended.
func (c *ceding) account(now, took time.Duration) {
	if took < foreignTurn {
		return
	}
	for {
		old := c.repaid.Load()
		repaid := max(old, int64(now)) + int64(took)*foreignPrice
		if c.repaid.CompareAndSwap(old, repaid) {
			return
		}
	}
}

// isLocal tells whether both ends of a connection are on one machine.
func isLocal(here, there net.Addr) bool {
	switch there := there.(type) {
	case *net.UnixAddr:
		return true
	case *net.TCPAddr:
		here, ok := here.(*net.TCPAddr)
		return there.IP.IsLoopback() || ok && there.IP.Equal(here.IP)
	}
	return false
}
