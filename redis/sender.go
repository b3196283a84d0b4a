package redis

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/values"
)

// Request is a command with its arguments.
type Request struct {
	// Cmd is the command's name, in upper or lower case. It may contain one space
	// ("CLUSTER SLOTS"): the second word is sent as the first argument.
	Cmd string
	// Args are nil (sent as an empty string), []byte, string, any integer
	// type, float32, float64 or bool (sent as 1 or 0).
	//
	// A [time.Duration] is sent in the unit that the command takes in its place: in seconds
	// after EX and as the argument of EXPIRE, in milliseconds after PX and BLOCK, in
	// seconds with a fraction as the timeout of BLPOP. It has to be a whole number of the
	// unit. In other places it can't be sent: see [Seconds], [Milliseconds] and [Args].
	//
	// For slices, maps and structs, and types of your own, see [Args].
	Args []any
}

// Req makes a Request.
func Req(cmd string, args ...any) Request {
	return Request{Cmd: cmd, Args: args}
}

// Future takes the result of a request.
type Future interface {
	// Resolve is called once, with the result and the n that was given with the
	// request. It may be called in any goroutine, and before Send has returned. Mostly
	// that is the goroutine that reads the socket: it must be quick, and must not wait
	// for another reply of the same connection.
	Resolve(res any, n uint64)
	// Cancelled returns an error if nobody waits for the result any more. The request is
	// then not sent, unless it is already written. It must not block.
	Cancelled() error
}

// FuncFuture is a Future made of a function. It is never cancelled.
type FuncFuture func(res any, n uint64)

// Resolve implements Future.
func (f FuncFuture) Resolve(res any, n uint64) { f(res, n) }

// Cancelled implements Future.
func (f FuncFuture) Cancelled() error { return nil }

// resolve resolves cb, if there is one.
func resolve(cb Future, res any, n uint64) {
	if cb != nil {
		cb.Resolve(res, n)
	}
}

// Sender sends requests whose futures are resolved later. Connections, clusters and
// wrappers of them are Senders. Implementations are safe for use by many goroutines,
// unless they say otherwise.
type Sender interface {
	// Send sends a request; cb is resolved once, with n, perhaps before Send returns.
	// Send never blocks, and the caller may change the arguments as soon as it returns. A
	// nil cb drops the result.
	Send(r Request, cb Future, n uint64)
	// SendMany sends several requests; cb is resolved once for each, with
	// start+i for the request of index i.
	SendMany(r []Request, cb Future, start uint64)
	// SendTransaction sends requests between MULTI and EXEC; cb is resolved once, with
	// start and the answer to EXEC. See [TransactionResponse].
	SendTransaction(r []Request, cb Future, start uint64)
	// Scanner returns an iterator over keys, or over the elements of a key.
	Scanner(opts ScanOpts) Scanner
	// EachShard calls f with a Sender for each master, until f returns false. For a
	// master that is not connected, f gets a nil Sender and an error.
	EachShard(f func(Sender, error) bool)
	// Close ends the sender. Requests that are not written yet end as not sent, those in
	// flight as unknown.
	Close()
}

// Stream is an argument that is read while it is sent, for values that should not be
// held in memory. Only methods that say so accept it.
type Stream struct {
	// R has to deliver Size bytes; what follows them is not read.
	R io.Reader
	// Size is the argument's length in bytes.
	Size int64
}

// CommandName returns Cmd in upper case. It leaves out a second word that is an argument,
// and not a subcommand.
func (r Request) CommandName() string {
	if call := command.Of(r.Cmd, nil); call.Info != nil && !call.Is(command.Container) {
		return call.Name
	}
	return strings.ToUpper(r.Cmd)
}

// String describes the request without its arguments, which may be secret: `Req("SET",
// 2 args, 1 key, 17 bytes)`. The bytes are those of the command and its arguments.
func (r Request) String() string {
	call := command.Of(r.Cmd, r.Args)
	name := call.ShownName(r.Cmd)
	size := len(strings.Replace(r.Cmd, " ", "", 1))
	for _, arg := range r.Args {
		text, _ := resp.ArgText(arg)
		size += len(text)
	}
	args := call.Words() - 1 - strings.Count(name, " ")
	return fmt.Sprintf("Req(%q, %s, %s, %s)", name,
		plural(args, "arg"), plural(call.CountKeys(), "key"), plural(size, "byte"))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Key returns the first key of the request, as the text that is sent. It returns false
// if the request has no key, if the command can't take these arguments, or if the key's
// type can't be sent.
//
// It knows every command up to Redis 8.2 and Valkey 9.1, from what the servers themselves
// say. A shard channel (SPUBLISH, SSUBSCRIBE) counts as a key, since its slot decides
// where the request goes. For an unknown command, usually one of a module, the key is
// Args[0], whether Cmd has one word or two. For RANDOMKEY, Key returns ("RANDOMKEY",
// false).
func (r Request) Key() (string, bool) {
	call := command.Of(r.Cmd, r.Args)
	i := call.FirstKey()
	if i == command.NoKey {
		if call.Info != nil && call.Name == "RANDOMKEY" {
			return call.Name, false
		}
		return "", false
	}
	return r.keyAt(i)
}

// Keys returns all keys of the request, in the order of its arguments, or nil if there
// are none. Keys of types that can't be sent are left out. See [Request.Key].
func (r Request) Keys() []string {
	call := command.Of(r.Cmd, r.Args)
	n := call.CountKeys()
	if n == 0 {
		return nil
	}
	keys := make([]string, 0, n)
	for i := range call.Keys {
		if key, ok := r.keyAt(i); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// keyAt returns the key that package command found at i.
func (r Request) keyAt(i int) (string, bool) {
	if i == command.InCmd {
		_, key, _ := strings.Cut(r.Cmd, " ")
		return key, true
	}
	return resp.ArgText(r.Args[i])
}

// CollectTrace makes Sync and SyncCtx add the caller's stack trace to errors, which takes
// some microseconds for each error. Set it before the first request. Default false.
var CollectTrace = false

// traced adds the caller's stack trace to errors, if that is asked for.
func traced(res any) any {
	if err, ok := res.(error); ok && CollectTrace {
		return errorx.EnsureStackTrace(errs.Plain(err))
	}
	return res
}

// withRequest adds the request to an error that does not name one.
func withRequest(err error, cmd string, args []any) error {
	typed := errorx.Cast(errs.Plain(err))
	if typed == nil {
		return err
	}
	if _, named := typed.Property(errs.EKRequest); named {
		return typed
	}
	return typed.WithProperty(errs.EKRequest, Request{Cmd: cmd, Args: values.CloneArgs(args)})
}

// ofRequest adds the request to an error. Its reply did not come, or could not be read.
func ofRequest(err error, cmd string, args []any) error {
	if err == nil {
		return nil
	}
	return errs.Err(traced(withRequest(err, cmd, args)))
}

// withdrawn is the result of a request that was taken back unsent.
func withdrawn(ctx context.Context) *errorx.Error {
	return errs.ErrRequestWithdrawn.Wrap(ctx.Err(), "withdrawn before it was sent")
}
