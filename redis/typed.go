package redis

import (
	"context"
	"reflect"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
)

// DoInto sends a command and reads its reply into dst, a pointer to a variable of any
// type that [As] accepts. A *[]byte (whose capacity is reused), *string, *int64,
// *float64 or *bool is decoded straight from the read buffer. The reply to HMGET is
// read by the names of the fields that were asked for.
//
// The error is that of the request; an [ErrArgumentType] for a type that no reply can
// be read into (nothing is sent); or one of As. After an error dst is unchanged, except
// for a *[]byte, whose buffer is lent to the connection: it is empty, and nil if the
// context ended.
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
	t := target{Scalar: resp.Scalar{Kind: resp.KindOf(dst)}}
	if err := checkTarget(dst, t.Kind); err != nil {
		return errs.Err(err)
	}
	var lent *[]byte
	if t.Kind == resp.Bytes {
		lent = dst.(*[]byte)
		t.Bytes, *lent = (*lent)[:0], nil
	}
	res := do(ctx, s, cmd, args, &t, nil)
	if _, failed := res.(error); t.filled && !failed {
		t.Store(dst)
		return nil
	}
	if lent != nil {
		*lent = t.Bytes[:0]
	}
	return readInto(dst, res, cmd, args)
}

// checkTarget returns ErrArgumentType if no reply can be read into dst, which is of the kind.
func checkTarget(dst any, kind resp.Kind) error {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return errArgType("a reply can't be read into a %T that points nowhere", dst)
	}
	if kind != resp.NoKind {
		return nil
	}
	if _, err := planOf(v.Type().Elem()); err != nil {
		return errArgType("%v", err)
	}
	return nil
}

// readInto reads the result of a request into dst, which is left as it was if
// that fails. The result of HMGET has values alone, the request has their names.
func readInto(dst, res any, cmd string, args []any) error {
	if resp.KindOf(dst) != resp.NoKind {
		return ofRequest(assign(dst, res), cmd, args)
	}
	v := reflect.ValueOf(dst).Elem()
	p, _ := planOf(v.Type())
	if p.named && command.Lookup(cmd).Named("HMGET") && len(args) > 0 {
		res = Zip(cloneArgs(args[1:]), res)
	}
	fresh := v
	if p.partial {
		fresh = reflect.New(v.Type()).Elem()
	}
	err := errs.Of(res)
	if err == nil {
		err = answered(p.read(fresh, res), res)
	}
	if err == nil && p.partial {
		v.Set(fresh)
	}
	return ofRequest(err, cmd, args)
}
