package redis

import (
	"fmt"
	"strings"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/resp"
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
