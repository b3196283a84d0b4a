// Package wire is what the wrappers of package redis and the senders of
// packages redisconn and rediscluster agree on beside the public interfaces:
// requests that are encoded already, how to take one back, and how to wait
// for room in a full queue.
package wire

import (
	"context"

	"github.com/joomcode/errorx"
)

// Request is an encoded request. Who sends it may not keep Buf.
type Request struct {
	Cmd string // as in redis.Request
	Buf []byte // RESP
	// Ticket is set by the sender that has queued the request.
	Ticket Ticket
}

// Ticket names a queued request.
type Ticket struct {
	Queue Withdrawer
	Seq   uint64
}

// Withdrawer takes requests back.
type Withdrawer interface {
	// Withdraw takes a request back if none of it was written yet. If it
	// returns true, the request's future will not be resolved.
	Withdraw(seq uint64) bool
}

// Withdraw takes the request back, if it was ever queued and is not written yet.
func (t Ticket) Withdraw() bool {
	return t.Queue != nil && t.Queue.Withdraw(t.Seq)
}

// Roomer is a queue that can be full.
type Roomer interface {
	// AwaitRoom waits until the queue has room, or the context ends.
	AwaitRoom(ctx context.Context) error
}

// EKRoomer is the property of a redis.ErrQueueFull that holds the Roomer.
var EKRoomer = errorx.RegisterProperty("roomer")

// Arg returns the word of index i of the request, the command's name being
// word 0. Buf has to be what the encoder made.
func (r *Request) Arg(i int) []byte {
	buf := skipLine(r.Buf)
	for ; ; i-- {
		n := 0
		for buf = buf[1:]; buf[0] != '\r'; buf = buf[1:] {
			n = n*10 + int(buf[0]-'0')
		}
		buf = buf[2:]
		if i == 0 {
			return buf[:n]
		}
		buf = buf[n+2:]
	}
}

// Words returns how many words the request has, the command's name included.
func (r *Request) Words() int {
	n := 0
	for _, c := range r.Buf[1:] {
		if c == '\r' {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func skipLine(buf []byte) []byte {
	for i, c := range buf {
		if c == '\n' {
			return buf[i+1:]
		}
	}
	return nil
}
