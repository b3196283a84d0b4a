package redis

import (
	"context"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/values"
	"github.com/joomcode/redispipe/internal/wire"
)

// DoInto sends a command and reads its reply into dst, a pointer to a variable of any
// type that [As] accepts. A *[]byte (whose capacity is reused), *string, *int64,
// *float64 or *bool is decoded straight from the read buffer. The reply to HMGET is
// read by the names of the fields that were asked for.
//
// The error is that of the request, or one of As; for a type that no reply can be read
// into it is an [ErrArgumentType], and nothing is sent. After an error dst is unchanged,
// except a *[]byte, whose buffer the connection uses during the call: it is empty after
// an error, and nil if the context ended.
func (s Sync) DoInto(dst any, cmd string, args ...any) error {
	return doInto(context.Background(), s.S, dst, cmd, args)
}

// DoInto is Sync.DoInto with a context.
func (s SyncCtx) DoInto(ctx context.Context, dst any, cmd string, args ...any) error {
	if ctx == nil {
		return errs.Err(errs.NilContext())
	}
	return doInto(ctx, s.S, dst, cmd, args)
}

func doInto(ctx context.Context, s Sender, dst any, cmd string, args []any) error {
	v, err := values.VariableOf(dst)
	if err != nil {
		return errs.Err(err)
	}
	t := target{Scalar: resp.Scalar{Kind: v.Kind}}
	var buf *[]byte
	if t.Kind == resp.Bytes {
		buf = dst.(*[]byte)
		t.Bytes, *buf = (*buf)[:0], nil
	}
	res := do(ctx, s, cmd, args, &t, nil)
	if _, failed := res.(error); t.filled && !failed {
		t.Store(dst)
		return nil
	}
	if buf != nil {
		*buf = t.Bytes[:0]
	}
	return readInto(v, res, cmd, args)
}

// target is a place for a single value. It belongs to the waiter until the caller takes it, so
// a reply that comes too late can't touch the caller's memory.
type target struct {
	resp.Scalar      // its Bytes are the caller's
	filled      bool // the value is here, and not in the result
}

// DoAs sends a command and returns its result as a T, of any type that [As] accepts: see
// [Sync.DoInto]. After an error it returns the zero value. For an int64, a float64 or a
// bool it allocates nothing, for a string only the text.
func DoAs[T any](ctx context.Context, s Sender, cmd string, args ...any) (T, error) {
	var result T
	if scalar, err := (SyncCtx{S: s}).DoScalar(ctx, wire.Ask{}, &result, cmd, args...); scalar {
		return result, err
	}
	allocated := new(T)
	err := SyncCtx{S: s}.DoInto(ctx, allocated, cmd, args...)
	return *allocated, err
}

// DoScalar is [SyncCtx.DoInto] for a *[]byte, *string, *int64, *float64 or *bool. It does not
// retain dst, so the variable may be on its caller's stack; after an error the variable is
// zero. For another type it returns false, and nothing is sent. It is for packages of this
// module: nobody else can call it.
func (s SyncCtx) DoScalar(ctx context.Context, _ wire.Ask, dst any, cmd string, args ...any) (scalar bool, err error) {
	t := target{Scalar: resp.Scalar{Kind: resp.KindOf(dst)}}
	if t.Kind == resp.NoKind {
		return false, nil
	}
	if ctx == nil {
		return true, errs.Err(errs.NilContext())
	}
	res := do(ctx, s.S, cmd, args, &t, nil)
	if _, failed := res.(error); !t.filled || failed {
		t.Scalar, err = readScalar(t.Kind, res, cmd, args)
	}
	t.Store(dst)
	return true, err
}

// readScalar is a function of its own because its result escapes to the heap.
func readScalar(kind resp.Kind, res any, cmd string, args []any) (resp.Scalar, error) {
	one := resp.Scalar{Kind: kind}
	err := values.Assign(one.Place(), res)
	return one, ofRequest(err, cmd, args)
}

// readInto reads the result of a request into v, and leaves v unchanged if that fails. The
// result of HMGET has only values; their names are in the request.
func readInto(v values.Variable, res any, cmd string, args []any) error {
	if v.Named() && command.Lookup(cmd).Named("HMGET") && len(args) > 0 {
		res = Zip(values.CloneArgs(args[1:]), res)
	}
	return ofRequest(v.Read(res), cmd, args)
}
