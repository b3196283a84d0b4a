package redis

import (
	"reflect"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/values"
)

// AppendRequest appends the request in RESP to buf. If an argument has a type
// that can't be encoded, it returns buf unchanged and an ErrArgumentType.
func AppendRequest(buf []byte, req Request) ([]byte, error) {
	out, bad := resp.AppendCommand(buf, req.Cmd, req.Args)
	if bad >= 0 {
		return buf, errUnsendable(req, bad)
	}
	return out, nil
}

// ArgToString returns an argument as the text that is sent for it, and false
// if its type can't be sent.
func ArgToString(arg any) (string, bool) { return resp.ArgText(arg) }

// errUnsendable says that the request has an argument that can't be sent.
func errUnsendable(req Request, pos int) *errorx.Error {
	return errArgument(req.Cmd, req.Args, pos).
		WithProperty(errs.EKVal, req.Args[pos]).
		WithProperty(errs.EKRequest, req)
}

// errArgument says that a request has an argument that can't be sent, and what to send instead. It
// keeps no reference to args.
func errArgument(cmd string, args []any, pos int) *errorx.Error {
	call := command.Of(cmd, nil)
	name := call.ShownName(cmd)
	if bad, ok := args[pos].(values.Bad); ok {
		return errs.Within(bad.Why[0], "%s: Args[%d] can't be sent", name, pos).
			WithProperty(errs.EKArgPos, pos)
	}
	return errs.ErrArgumentType.New("%s: Args[%d] can't be sent%s", name, pos, insteadOfArg(cmd, args, pos)).
		WithProperty(errs.EKArgPos, pos)
}

// insteadOfArg says what to send instead of an argument. It does not show the argument's value.
func insteadOfArg(cmd string, args []any, pos int) string {
	t := reflect.TypeOf(args[pos])
	if t == reflect.TypeFor[time.Duration]() {
		call := command.Of(cmd, args)
		if unit := call.UnitOf(pos); unit != command.NoUnit {
			return ": the time.Duration is not a whole number of " + unit.String() + ", which the command takes there: truncate it"
		}
		return ": the command takes no duration there: send a time.Duration as a number, with redis.Args and redis.Seconds or redis.Milliseconds, or by its String method"
	}
	switch {
	case t == nil:
		return ""
	case t == reflect.TypeFor[Stream]():
		return ": only DoStream sends a redis.Stream, which needs a reader and a size from 0 on"
	case t == reflect.TypeFor[time.Time]():
		return ": it is a time.Time, which redis.Args sends as text; Unix and UnixMilli are numbers"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return ": it is a pointer, which redis.Args turns into arguments"
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
		return ": it is a " + t.Kind().String() + ", which redis.Args turns into arguments"
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		return ": it is a " + t.Kind().String()
	}
	return ": its type is not predeclared; redis.Args turns it into an argument"
}
