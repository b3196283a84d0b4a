package redis

import (
	"context"
	"fmt"
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/values"
)

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
