package redis

import (
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
)

// CommandName returns Cmd in upper case. If the second word of Cmd is an argument rather than a
// subcommand, CommandName leaves it out.
func (r Request) CommandName() string {
	if call := command.Of(r.Cmd, nil); call.Info != nil && !call.Is(command.Container) {
		return call.Name
	}
	return strings.ToUpper(r.Cmd)
}

// Key returns the first key of the request, as the text that is sent. It returns false
// if the request has no key, if the command can't take these arguments, or if the key's
// type can't be sent.
//
// It knows every command up to Redis 8.10 and Valkey 9.1, from the servers' own
// answers. A shard channel (SPUBLISH, SSUBSCRIBE) counts as a key, because its slot decides
// where the request goes. For an unknown command, usually a module's, the key is
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

// keyAt returns the key at position i, which package command has found.
func (r Request) keyAt(i int) (string, bool) {
	if i == command.InCmd {
		_, key, _ := strings.Cut(r.Cmd, " ")
		return key, true
	}
	return resp.ArgText(r.Args[i])
}

// Blocking reports whether the command may block its connection, and with it all later requests:
// BLPOP, WAIT, SAVE. Blocking looks only at the name, so it also returns true for XREAD and
// XREADGROUP without BLOCK; [CheckRequest] also looks at the arguments.
func Blocking(cmd string) bool {
	return command.Of(cmd, nil).Is(command.Blocking)
}

// Dangerous reports whether the command changes the state of its connection, on which
// other requests may depend: WATCH, SELECT, SUBSCRIBE, "CLIENT REPLY". Give both words of
// a command with subcommands.
func Dangerous(cmd string) bool {
	call := command.Of(cmd, nil)
	return call.Info != nil && (call.Class == command.Session || call.Class == command.Protocol)
}

// ReplicaSafe reports whether the command only reads keys, so that a replica answers it as its
// master does, except for writes that have not reached the replica yet. It returns false for
// commands without keys (DBSIZE, KEYS), for those that may write (SORT, GETEX), for TOUCH, and for
// SCAN and the like, whose cursor is valid on one server only. For XINFO and OBJECT the first word
// is enough; MEMORY USAGE needs both.
func ReplicaSafe(cmd string) bool {
	return command.Of(cmd, nil).Is(command.ReplicaSafe)
}

// ForbiddenCommand returns [ErrCommandForbidden] if a connection must not send the
// command, and [ErrCommandFormat] if the name can't be a command's. A connection with one
// user (singleThreaded, ScriptMode) may block and change its own state, but not the
// protocol. ForbiddenCommand looks only at the name, so it treats XREAD as blocking;
// [CheckRequest] also looks at the arguments.
func ForbiddenCommand(name string, singleThreaded bool) error {
	call := command.Of(name, nil)
	verdict := call.Verdict(singleThreaded)
	if verdict == command.Allowed && !singleThreaded && call.Is(command.Blocking) {
		verdict = command.WouldBlock
	}
	if verdict == command.Allowed {
		return nil
	}
	return errVerdict(&call, verdict)
}

// CheckRequest returns the error with which a connection refuses the request
// before anything is sent: ErrCommandFormat, ErrCommandForbidden (see
// ForbiddenCommand) or ErrArgumentType.
func CheckRequest(req Request, singleThreaded bool) error {
	call := command.Of(req.Cmd, req.Args)
	if verdict := call.Verdict(singleThreaded); verdict != command.Allowed {
		return errVerdict(&call, verdict).WithProperty(errs.EKRequest, req)
	}
	for i := range req.Args {
		if !call.Sendable(i) {
			return errUnsendable(req, i)
		}
	}
	return nil
}

// errVerdict explains a verdict other than Allowed. The text has the command's name from
// the table, never the caller's text.
func errVerdict(call *command.Call, verdict command.Verdict) *errorx.Error {
	switch verdict {
	case command.Malformed:
		return errs.ErrCommandFormat.New("the command must be only its name, in printable characters, as in GET or CLIENT LIST: pass each argument by itself, as in Do(ctx, \"GET\", key)")
	case command.WouldBlock:
		return errs.ErrCommandForbidden.New("%s blocks, and would delay the other requests of its batch, transaction or connection: send it by itself, with Opts.DedicatedConns not negative", call.Name)
	case command.ChangesSession:
		if command.BoundsTransaction(call.Name) {
			return errs.ErrCommandForbidden.New("%s can't be a part of a transaction, nor be sent on a connection that others share: %s", call.Name, insteadOf(call.Name))
		}
		return errs.ErrCommandForbidden.New("%s changes the state of a connection that others share: %s", call.Name, insteadOf(call.Name))
	}
	return errs.ErrCommandForbidden.New("%s breaks the pairing of requests and replies: %s", call.Name, insteadOf(call.Name))
}

// insteadOf names the replacement for a refused command.
func insteadOf(name string) string {
	switch name {
	case "SELECT":
		return "set Opts.DB, or use Session of the client, or redis.WithSession"
	case "AUTH":
		return "set Opts.Username and Opts.Password, or use Reauthenticate"
	case "HELLO":
		return "set Opts.Protocol, Opts.Username and Opts.Password"
	case "READONLY", "READWRITE":
		return "set Opts.ReadOnly"
	case "MULTI", "EXEC", "DISCARD":
		return "use Transact or SendTransaction, or redis.Watch, or a session (redis.WithSession)"
	case "WATCH", "UNWATCH":
		return "use redis.Watch, or a session (redis.WithSession)"
	case "QUIT", "RESET":
		return "use Close"
	case "CLIENT REPLY":
		return "send with a nil Future to drop the reply"
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE":
		return "use Subscriber of the client, redispubsub.New or redispubsub.NewCluster"
	case "CLIENT TRACKING":
		return "use package rediscache"
	case "SET":
		return "Redis 8.6 and 8.10 answer GET twice if the digest does not have 16 characters"
	case "MONITOR", "SYNC", "PSYNC", "REPLCONF", "SCRIPT DEBUG", "CLUSTER SYNCSLOTS":
		return "it needs a separate socket, outside of this library"
	}
	return "use Session of the client, or redis.WithSession"
}
