package engine

import (
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/joomcode/redispipe/internal/timing"
)

// After a write to a server on the same machine, the writer once yields its processor to other
// processes. Otherwise, while the client's threads occupy all processors, the server does not run
// until one of the threads sleeps, so client and server take turns instead of working at the same
// time.
//
// If no process waits for a processor, this system call returns at once. If processes other than
// the server wait too, one of them may run for a whole time slice of some milliseconds. These
// constants bound the time that this process loses in this way.
const (
	// slowYield is how long a yield must take to count as lost time. The server usually runs for a
	// shorter time, other processes for a longer one.
	slowYield = time.Millisecond
	// slowYieldPrice bounds the share of time that may be lost: one part in slowYieldPrice.
	slowYieldPrice = 16
	// slowYieldCredit is how much time may be lost at once before the bound applies.
	slowYieldCredit = 10 * time.Millisecond
)

// processor yields the processor to a server on the same machine.
type processor struct {
	local bool // the server shares the machine
	*lostTime
}

func newProcessor(conn net.Conn) *processor {
	return &processor{isLocal(conn.LocalAddr(), conn.RemoteAddr()), &lost}
}

// lostTime bounds the time that yields lose.
type lostTime struct {
	// repaid is the time on timing.Clock at which the lost time is made up for.
	repaid atomic.Int64
}

// lost is shared by all connections. If each had its own, many connections together could lose much
// more than the bound.
var lost lostTime

// near reports whether the server shares the machine.
func (p *processor) near() bool { return p.local }

// yield lets the server run. The caller must not have the right to write. The raw system call hides
// the pause from Go's scheduler, which would otherwise start another thread in place of this one.
func (p *processor) yield() {
	if !p.local {
		return
	}
	before := timing.Clock()
	if !p.may(before) {
		return
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
	after := timing.Clock()
	p.account(after, after-before)
}

// may reports whether a yield is allowed at the time now, on timing.Clock.
func (l *lostTime) may(now time.Duration) bool {
	return time.Duration(l.repaid.Load())-now <= slowYieldPrice*slowYieldCredit
}

// account counts a yield that ended at now, after the duration took.
func (l *lostTime) account(now, took time.Duration) {
	if took < slowYield {
		return
	}
	for {
		old := l.repaid.Load()
		repaid := max(old, int64(now)) + int64(took)*slowYieldPrice
		if l.repaid.CompareAndSwap(old, repaid) {
			return
		}
	}
}

// isLocal reports whether both ends of a connection are on one machine.
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
