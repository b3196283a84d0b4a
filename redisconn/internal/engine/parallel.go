package engine

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/timing"
)

// parallel finds out whether a server on the same machine runs at the same time as the client, if
// the client has one processor (GOMAXPROCS). If the server runs on another processor, reads wait for
// it, and the client may use that time. If both share a processor, the server has answered before
// the client runs again: then reads find their data, and each change of turns takes time.
//
// Only the holder of the right to read calls read. is may be called by any goroutine.
type parallel struct {
	average atomic.Int64 // the average duration of recent reads, in nanoseconds
}

// newParallel returns nil unless the client has one processor and the server is on the same machine.
// most is the result of [mostWaited].
func newParallel(most int, p *processor) *parallel {
	if most != enoughMostOfOne || !p.near() {
		return nil
	}
	return new(parallel)
}

const (
	// waitingRead is the least average duration of reads that wait for the server. A read that finds
	// its data takes a quarter of it.
	waitingRead = 4 * time.Microsecond
	// longRead bounds what one read counts for: it may have waited for a request.
	longRead = 16 * waitingRead
)

// read reads from conn, and notes how long that takes.
func (p *parallel) read(conn net.Conn, buf []byte) (int, error) {
	if p == nil {
		return conn.Read(buf)
	}
	before := timing.Clock()
	n, err := conn.Read(buf)
	p.note(timing.Clock() - before)
	return n, err
}

// note adds the duration of a read to the average.
func (p *parallel) note(took time.Duration) {
	average := p.average.Load()
	p.average.Store(average + (int64(min(took, longRead))-average)/64)
}

// is reports whether the server runs at the same time as the client.
func (p *parallel) is() bool { return p != nil && p.average.Load() >= int64(waitingRead) }
