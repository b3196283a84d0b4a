// Package wire is what the wrappers of package redis and the senders of
// packages redisconn and rediscluster agree on in addition to the public interfaces:
// requests that are encoded already, how to take one back, and how to wait
// for room in a full queue.
package wire

import (
	"context"
	"strings"
	"time"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/slot"
)

// Request is an encoded request. A sender must retain neither it nor Buf.
type Request struct {
	Cmd string // as in redis.Request
	Buf []byte // RESP
	// Shared and Single are whether the request may be sent on a connection
	// that is shared, and on one of a single user.
	Shared, Single command.Verdict
	// ReplicaSafe is set if a replica may answer the request, and ReadOnly if it
	// changes nothing.
	ReplicaSafe, ReadOnly bool
	// Typed is set if the future is a resp.ReplyDecoder.
	Typed bool
	// Deadline is when the caller goes away, if it is known.
	Deadline time.Time
	// Slot is the cluster slot of the keys, or NoSlot or ManySlots. It is set
	// for senders that want it.
	Slot int
	// Plain is set if the connection is to name the request in errors, because its
	// sender does not.
	Plain bool
	// Caller is whoever waits for the request, nil if nobody does.
	Caller Caller
	// Deaf is set if the Caller may be told to listen: see [Caller].
	Deaf bool
	// Observed is set if the future is an Observer.
	Observed bool
	// Held is set if a request that blocks may be run in the goroutine that sends it,
	// which would only wait for it. It means nothing for others.
	Held bool
	// Ticket is set by the sender that has queued the request.
	Ticket Ticket
}

// Namer is a future that adds redis.EKRequest to errors by itself. A sender does
// not have to keep the request for it.
type Namer interface{ NamesRequests() }

const (
	// NoSlot is the Slot of a request without keys.
	NoSlot = -1
	// ManySlots is the Slot of a request whose keys are of several slots.
	ManySlots = -2
)

// Caller is a caller that waits for a future, and can read replies meanwhile. What it does
// may be done in any goroutine, also under a lock: it never blocks.
//
// It may serve another request already when it is told to listen: then that one's caller
// does so earlier than it has to, and nothing else comes of it.
type Caller interface {
	// GiveRead gives the caller the right to read. It returns false, and does
	// nothing, if nobody waits any more or the caller reads elsewhere.
	GiveRead(r ReadRight) bool
	// Listen tells a caller that waits for its future alone, which takes less than waiting
	// for two things, that its context may end, too. It returns false, and does nothing, if
	// the caller does something else.
	Listen() bool
}

// CallerOf returns who waits for fut, nil if nobody does. A future that passes results on
// answers for the one that it passes them to.
func CallerOf(fut any) Caller {
	if awaited, ok := fut.(interface{ Caller() Caller }); ok {
		return awaited.Caller()
	}
	return nil
}

// ReadRight is the right to read the replies of a connection.
type ReadRight struct {
	Reader Reader
	// Last is the last request that the caller is to read the reply of.
	Last uint64
}

// Reader is a connection whose replies are read by callers.
type Reader interface {
	// ReadUntil reads replies up to that of the request last, and passes the
	// right on. If ctx ends first it returns false, and the right is still the
	// caller's, which has to pass it on. If deaf is set it need not heed ctx before the
	// caller is told to listen.
	ReadUntil(ctx context.Context, last uint64, deaf bool) (passed bool)
	// PassRead passes the right to read on.
	PassRead()
}

// Ticket names a queued request.
type Ticket struct {
	Queue Withdrawer
	Seq   uint64
	// Heeded is set if the sender heeds the context of the request's future: it
	// resolves that soon after the context has ended, in any case.
	Heeded bool
	// Tells is set if the sender will tell a deaf caller to listen; else the caller listens
	// at once.
	Tells bool
}

// Dedicated is a connection that one caller has to itself, until Release.
type Dedicated interface {
	// Exchange sends requests at once, and has each called with every result. The
	// error is that with which the connection was lost, which is for ever: the
	// requests without a result have it.
	Exchange(ctx context.Context, reqs []Request, each func(i int, res any)) error
	// Place is where answers come from.
	Place() Place
	// Release ends the use of the connection.
	Release()
}

// ContextOf returns the context of the caller that fut is the future of, if it is one
// of a request that may block, and else one that does not end.
func ContextOf(fut any) context.Context {
	if caller, ok := fut.(interface{ Context() context.Context }); ok {
		return caller.Context()
	}
	return context.Background()
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

// CapacityWaiter is a queue that can be full.
type CapacityWaiter interface {
	// AwaitCapacity waits until the queue has room, or the context ends. If it
	// returns nil the caller has to send: the room is kept for it.
	AwaitCapacity(ctx context.Context) error
}

// Encoded makes r, which is zero, the command that buf encodes, described.
func (r *Request) Encoded(cmd string, args []any, buf []byte, wantsSlot bool) {
	r.Cmd, r.Buf = cmd, buf
	call := command.Of(cmd, args)
	r.Describe(&call, wantsSlot)
}

// Describe sets what the sender has to know of the command: Shared, Single,
// ReplicaSafe, ReadOnly, and Slot if it wants that. call is what Buf encodes.
func (r *Request) Describe(call *command.Call, wantsSlot bool) {
	r.Shared, r.Single = call.Verdict(false), call.Verdict(true)
	r.ReplicaSafe = call.Is(command.ReplicaSafe)
	r.ReadOnly = r.ReplicaSafe || call.Is(command.ReadOnly)
	r.Slot = NoSlot
	if wantsSlot {
		r.Slot = r.keysSlot(call)
	}
}

// keysSlot returns the slot that all keys share. Keys come in the order of the
// words, but for a few commands', so that one walk over the words finds all.
func (r *Request) keysSlot(call *command.Call) int {
	common := NoSlot
	var word []byte
	rest, next := skipLine(r.Buf), 0
	for i := range call.Keys {
		at := r.keyWord(i)
		if at < next {
			rest, next = skipLine(r.Buf), 0
		}
		for ; next <= at; next++ {
			word, rest = cutWord(rest)
		}
		s := int(slot.Of(word))
		if common != NoSlot && common != s {
			return ManySlots
		}
		common = s
	}
	return common
}

// keyWord returns which word the key is that package command found at i.
func (r *Request) keyWord(i int) int {
	if i == command.InCmd {
		return 1
	}
	return 1 + SubcommandWords(r.Cmd) + i
}

// All goes over the words of the request, the command's name being word 0. Buf
// has to be what the encoder made.
func (r *Request) All(yield func(i int, word []byte) bool) {
	var word []byte
	for i, rest := 0, skipLine(r.Buf); len(rest) > 0; i++ {
		if word, rest = cutWord(rest); !yield(i, word) {
			return
		}
	}
}

// Arg returns the word of index i.
func (r *Request) Arg(i int) []byte {
	for j, word := range r.All {
		if j == i {
			return word
		}
	}
	return nil
}

// Args returns the arguments, as strings.
func (r *Request) Args() []any {
	first := 1 + SubcommandWords(r.Cmd)
	args := make([]any, 0, r.Words()-first)
	for i, word := range r.All {
		if i >= first {
			args = append(args, string(word))
		}
	}
	return args
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

// SubcommandWords returns how many words of a request the command's name takes
// beyond the first.
func SubcommandWords(cmd string) int {
	if strings.IndexByte(cmd, ' ') >= 0 {
		return 1
	}
	return 0
}

// cutWord takes the first word off buf.
func cutWord(buf []byte) (word, rest []byte) {
	n, i := 0, 1
	for ; buf[i] != '\r'; i++ {
		n = n*10 + int(buf[i]-'0')
	}
	buf = buf[i+2:]
	return buf[:n], buf[n+2:]
}

func skipLine(buf []byte) []byte {
	for i, c := range buf {
		if c == '\n' {
			return buf[i+1:]
		}
	}
	return nil
}
