package redis

import (
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
	// seconds with a fraction as the timeout of BLPOP. It must be a whole number of the
	// unit. In other places it is an error: see [Seconds], [Milliseconds] and [Args].
	//
	// For slices, maps, structs and your own types, see [Args].
	Args []any
}

// Req returns a Request.
func Req(cmd string, args ...any) Request {
	return Request{Cmd: cmd, Args: args}
}

// Stream is an argument that is read while it is sent, for values that are too large to
// hold in memory. Only methods that document it accept it.
type Stream struct {
	// R must deliver Size bytes. Further bytes are not read.
	R io.Reader
	// Size is the argument's length in bytes.
	Size int64
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

// withRequest adds the request to err, unless err has one.
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

// ofRequest adds the request to an error of a reply that did not arrive or could not be read.
func ofRequest(err error, cmd string, args []any) error {
	if err == nil {
		return nil
	}
	return errs.Err(traced(withRequest(err, cmd, args)))
}
