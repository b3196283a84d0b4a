package redis

import (
	"bytes"
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
)

// cloneArgs copies arguments that can be sent, so that the originals need not
// outlive the call.
func cloneArgs(args []any) []any {
	if len(args) == 0 {
		return nil
	}
	clones := make([]any, len(args))
	for i, arg := range args {
		clones[i] = cloneArg(arg)
	}
	return clones
}

func cloneArg(arg any) any {
	switch v := arg.(type) {
	case string:
		return strings.Clone(v)
	case []byte:
		return bytes.Clone(v)
	case bool:
		return v
	case float32:
		return v
	case float64:
		return v
	case int:
		return v
	case int64:
		return v
	case int32:
		return v
	case int16:
		return v
	case int8:
		return v
	case uint:
		return v
	case uint64:
		return v
	case uint32:
		return v
	case uint16:
		return v
	case uint8:
		return v
	case uintptr:
		return v
	}
	return nil
}

// withRequest adds the request to an error that does not name one.
func withRequest(err error, cmd string, args []any) error {
	typed, ok := err.(*errorx.Error)
	if !ok {
		return err
	}
	if _, named := typed.Property(EKRequest); named {
		return typed
	}
	return typed.WithProperty(EKRequest, Request{Cmd: cmd, Args: cloneArgs(args)})
}

// errArgument says that a request has an argument that can't be sent. It keeps
// no reference to arg.
func errArgument(cmd string, pos int, arg any) *errorx.Error {
	call := command.Of(cmd, nil)
	name := commandName(&call, cmd)
	if bad, ok := arg.(badArg); ok {
		return within(bad.why[0], "%s: argument %d can't be sent", name, pos).
			WithProperty(EKArgPos, pos)
	}
	return ErrArgumentType.New("%s: the type of argument %d can't be sent", name, pos).
		WithProperty(EKArgPos, pos)
}

// traced adds the caller's stack trace to errors, if that is asked for.
func traced(res any) any {
	if err, ok := res.(error); ok && CollectTrace {
		return errorx.EnsureStackTrace(err)
	}
	return res
}
