package send

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/slot"
)

// Request is an encoded request. A sender must keep neither it nor Buf.
type Request struct {
	Cmd string // as in redis.Request
	Buf []byte // RESP
	// Shared is set if the request may be sent on a shared connection. Then it may be sent on any
	// connection.
	Shared command.Verdict
	// Blocks is the [command.Call.BlockTime] of a request that would block a shared connection, and 0
	// for other requests.
	Blocks time.Duration
	// ReplicaSafe is set if a replica may answer the request, and ReadOnly if the request changes
	// nothing.
	ReplicaSafe, ReadOnly bool
	// Typed is set if the future is a resp.ReplyDecoder.
	Typed bool
	// Deadline is when the caller gives up, if that is known.
	Deadline time.Time
	// Slot is the cluster slot of the keys, or NoSlot or ManySlots. It is set only for senders whose
	// WantsSlot returns true.
	Slot int
	// Plain is set if the connection should add the request to errors, because its sender does not.
	Plain bool
	// Caller waits for the request; nil if nobody does.
	Caller Caller
	// Done is the Done channel of the Caller's context, if the Caller may be told to listen: see
	// [Caller].
	Done <-chan struct{}
	// Observed is set if the future is an Observer.
	Observed bool
	// Inline is set if a blocking request may run in the goroutine that sends it, because that
	// goroutine would only wait for it. It is ignored for other requests.
	Inline bool
	// Moves is set if the caller sends the request to another server when this one stalls. Then it
	// must be sent on the shared connection, where a stall is noticed.
	Moves bool
	// Asking is set if a connection must send ASKING before the request.
	Asking bool
	// Ticket is set by the sender that queues the request.
	Ticket Ticket
	// Judge is set by a sender that wants to know how the request ends; nil otherwise.
	Judge Judge
}

const (
	// NoSlot is the Slot of a request without keys.
	NoSlot = -1
	// ManySlots is the Slot of a request whose keys are in several slots.
	ManySlots = -2
)

// Encoded makes r the request that buf encodes, and sets the fields that describe it: Shared,
// Blocks, ReplicaSafe, ReadOnly, and Slot if wantsSlot is set. It keeps no reference to args. Other
// fields do not change.
func (r *Request) Encoded(cmd string, args []any, buf []byte, wantsSlot bool) {
	r.Cmd, r.Buf = cmd, buf
	call := command.Of(cmd, args)
	r.Shared, r.ReplicaSafe = call.Verdict(false), call.Is(command.ReplicaSafe)
	r.ReadOnly = call.Reads()
	if r.Blocks = 0; r.Shared == command.WouldBlock {
		r.Blocks = call.BlockTime()
	}
	if r.Slot = NoSlot; wantsSlot {
		r.Slot = r.keysSlot(&call)
	}
}

// Is reports whether the request is the command name, which is one word. Cmd may be in any case and
// may contain the first argument.
func (r *Request) Is(name string) bool {
	return len(r.Cmd) >= len(name) && (len(r.Cmd) == len(name) || r.Cmd[len(name)] == ' ') && strings.EqualFold(r.Cmd[:len(name)], name)
}

// keysSlot returns the slot that all keys share. Except in a few commands, keys come in the order
// of the words, so that one pass over the words finds them all.
func (r *Request) keysSlot(call *command.Call) int {
	if i, fixed := call.FixedKey(); fixed {
		if i == command.NoKey {
			return NoSlot
		}
		return int(slot.Of(r.Arg(r.keyWord(i))))
	}
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

// keyWord converts an index of a key, as package command returns it, into the index of a word.
func (r *Request) keyWord(i int) int {
	if i == command.InCmd {
		return 1
	}
	return 1 + SubcommandWords(r.Cmd) + i
}

// All iterates over the words of the request; word 0 is the name of the command. Buf must come from
// the encoder.
func (r *Request) All(yield func(i int, word []byte) bool) {
	var word []byte
	for i, rest := 0, skipLine(r.Buf); len(rest) > 0; i++ {
		if word, rest = cutWord(rest); !yield(i, word) {
			return
		}
	}
}

// Arg returns argument i, or nil if there is none.
func (r *Request) Arg(i int) []byte { return Word(r.Buf, i) }

// Word returns word i of an encoded request, or nil if there is none.
func Word(request []byte, i int) (word []byte) {
	for rest := skipLine(request); i >= 0; i-- {
		if len(rest) == 0 {
			return nil
		}
		word, rest = cutWord(rest)
	}
	return word
}

// AppendPrefixed appends to buf an encoded request with text in front of word i, which must exist.
func AppendPrefixed(buf, request []byte, i int, text string) []byte {
	rest := skipLine(request)
	for ; i > 0; i-- {
		_, rest = cutWord(rest)
	}
	word, after := cutWord(rest)
	buf = append(buf, request[:len(request)-len(rest)]...)
	buf = append(strconv.AppendInt(append(buf, '$'), int64(len(text)+len(word)), 10), "\r\n"...)
	buf = append(append(append(buf, text...), word...), "\r\n"...)
	return append(buf, after...)
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

// KeyAt returns the key at index i, as package command returns it. args are the result of Args.
func (r *Request) KeyAt(args []any, i int) string {
	if i == command.InCmd {
		_, key, _ := strings.Cut(r.Cmd, " ")
		return key
	}
	return args[i].(string)
}

// Words returns the number of words of the request, including the name of the command.
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

// SubcommandWords returns the number of words after the first that belong to the name of the
// command.
func SubcommandWords(cmd string) int {
	if strings.IndexByte(cmd, ' ') >= 0 {
		return 1
	}
	return 0
}

// cutWord splits off the first word of buf.
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

// Scratch is room for encoding requests: for their bytes and for the Requests that describe them.
// The caller owns it between GetScratch and PutScratch. Since senders keep no reference to it, a
// few serve all callers and stay in the processor's caches. Set all fields of Request, because it
// holds values of the previous user.
type Scratch struct {
	Buf     []byte
	Request Request
	batch   []Request
	refs    []*Request
}

var scratches = sync.Pool{New: func() any { return new(Scratch) }}

// A Scratch is reused only if its buffer has at most BufferKept bytes, and if it never had more
// than BatchKept requests. The garbage collector frees a larger one, so that one large request does
// not occupy memory forever.
const (
	BufferKept = 64 << 10
	BatchKept  = 256
)

// GetScratch returns a Scratch whose Buf is empty.
func GetScratch() *Scratch { return scratches.Get().(*Scratch) }

// Batch returns n zero Requests.
func (s *Scratch) Batch(n int) []*Request {
	if n > cap(s.batch) {
		s.batch, s.refs = make([]Request, n), make([]*Request, n)
		for i := range s.batch {
			s.refs[i] = &s.batch[i]
		}
	}
	s.batch = s.batch[:n]
	return s.refs[:n]
}

// PutScratch takes a Scratch back.
func PutScratch(s *Scratch) {
	if cap(s.Buf) > BufferKept || cap(s.batch) > BatchKept {
		return
	}
	clear(s.batch)
	s.Buf, s.Request.Caller, s.Request.Asking, s.batch = s.Buf[:0], nil, false, s.batch[:0]
	scratches.Put(s)
}
