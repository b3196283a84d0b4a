package redis

import (
	"bytes"
	"context"
	"io"
	"reflect"

	"github.com/joomcode/redispipe/internal/wire"
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
		return errContextIsNil()
	}
	return doInto(ctx, s.S, dst, cmd, args)
}

func doInto(ctx context.Context, s Sender, dst any, cmd string, args []any) error {
	t := target{kind: targetOf(dst)}
	switch {
	case t.kind == targetPlanned:
		return doIntoPlanned(ctx, s, dst, cmd, args)
	case reflect.ValueOf(dst).IsNil():
		return ErrArgumentType.New("a reply can't be read into a nil %T", dst)
	case t.kind == targetBytes:
		buf := dst.(*[]byte)
		t.body, *buf = (*buf)[:0], nil
	}
	res := do(ctx, s, cmd, args, &t, nil)
	if t.filled && AsError(res) == nil {
		t.store(dst)
		return nil
	}
	if t.kind == targetBytes {
		*dst.(*[]byte) = t.body[:0]
	}
	return readInto(dst, res, cmd, args)
}

// doIntoPlanned is doInto for types that take reflection.
func doIntoPlanned(ctx context.Context, s Sender, dst any, cmd string, args []any) error {
	if err := checkTarget(dst); err != nil {
		return err
	}
	return readInto(dst, do(ctx, s, cmd, args, nil, nil), cmd, args)
}

// checkTarget returns ErrArgumentType if no reply can be read into dst.
func checkTarget(dst any) error {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return errArgType("a reply can't be read into a %T that points nowhere", dst)
	}
	if targetOf(dst) != targetPlanned {
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
	v := reflect.ValueOf(dst).Elem()
	named := v.Kind() == reflect.Map
	fresh := dst
	if targetOf(dst) == targetPlanned {
		p, _ := planOf(v.Type())
		named = p.named
		fresh = reflect.New(v.Type()).Interface()
	}
	if named && equalFold(cmd, "HMGET") && len(args) > 0 {
		res = Zip(cloneArgs(args[1:]), res)
	}
	if err := assign(fresh, res); err != nil {
		return traced(withRequest(err, cmd, args)).(error)
	}
	if fresh != dst {
		v.Set(reflect.ValueOf(fresh).Elem())
	}
	return nil
}

// target is a place for a single value. It belongs to the waiter until the
// caller takes it, so that a reply that comes too late can't touch what is the
// caller's.
type target struct {
	kind   targetKind
	filled bool // the value is here, and not in the result

	body  []byte // lent by the caller
	text  string
	num   int64
	float float64
	truth bool
}

type targetKind uint8

const (
	targetNone    targetKind = iota
	targetPlanned            // no Value: read by a plan, out of the result
	targetResult             // a slice or a map, which is made of the result
	targetBytes              // from here on: decoded where the reply is read
	targetString
	targetInt
	targetFloat
	targetBool
)

func targetOf(dst any) targetKind {
	switch dst.(type) {
	case *[]byte:
		return targetBytes
	case *string:
		return targetString
	case *int64:
		return targetInt
	case *float64:
		return targetFloat
	case *bool:
		return targetBool
	case *[][]byte, *[]string, *[]int64, *[]float64, *[]bool,
		*map[string][]byte, *map[string]string, *map[string]int64, *map[string]float64, *map[string]bool:
		return targetResult
	}
	return targetPlanned
}

func (t *target) store(dst any) {
	switch dst := dst.(type) {
	case *[]byte:
		*dst = t.body
	case *string:
		*dst = t.text
	case *int64:
		*dst = t.num
	case *float64:
		*dst = t.float
	case *bool:
		*dst = t.truth
	}
}

// DecodeReply implements wire.ReplyDecoder.
func (w *waiter) DecodeReply(d *Decoder, _ uint64) (any, error) {
	res, filled, err := d.decodeInto(&w.target)
	w.target.filled = filled && err == nil
	return res, err
}

var _ wire.ReplyDecoder[*Decoder] = (*waiter)(nil)

// decodeInto reads one reply into t, if it is a single value, and else returns
// it as a result.
func (d *Decoder) decodeInto(t *target) (res any, filled bool, err error) {
	kind, err := d.Next()
	if err != nil {
		return nil, false, err
	}
	d.size = 0
	switch kind {
	case '+', ':':
		return d.lineInto(t)
	case ',':
		if !d.resp2 {
			return d.lineInto(t)
		}
	case '$':
		return d.bulkInto(t)
	}
	res, err = d.value(0)
	return res, false, err
}

func (d *Decoder) lineInto(t *target) (any, bool, error) {
	line, err := d.line()
	if err != nil {
		return nil, false, err
	}
	if res, err := oneLine(line); err != nil || !t.set(line[1:]) {
		return res, false, err
	}
	return nil, true, nil
}

func (d *Decoder) bulkInto(t *target) (any, bool, error) {
	line, err := d.line()
	if err != nil {
		return nil, false, err
	}
	n, err := d.length(line, d.limits.Bulk)
	switch {
	case err != nil:
		return nil, false, err
	case n < 0:
		return nil, false, nil
	case n+2 <= d.r.Size():
		return d.bufferedInto(t, n)
	case t.kind != targetBytes:
		res, err := d.body(n)
		return res, false, err
	}
	return nil, true, d.bodyInto(t, n)
}

// bufferedInto is for strings that fit into the reader's buffer: they are used
// where they are.
func (d *Decoder) bufferedInto(t *target, n int) (any, bool, error) {
	text, err := d.r.Peek(n + 2)
	if err != nil {
		d.size += len(text)
		return nil, false, d.ioError(err)
	}
	if text[n] != '\r' || text[n+1] != '\n' {
		return nil, false, ErrNoFinalRN.New("string is not followed by CRLF")
	}
	var res any
	filled := t.set(text[:n])
	if !filled {
		res = bytes.Clone(text[:n])
	}
	d.size += n + 2
	_, _ = d.r.Discard(n + 2)
	return res, filled, nil
}

// bodyInto reads a long string into t's buffer, as far as that has room, and
// else into one that grows as the string arrives.
func (d *Decoder) bodyInto(t *target, n int) error {
	if cap(t.body) < n {
		body, err := d.body(n)
		t.body = body
		return err
	}
	t.body = t.body[:n]
	m, err := io.ReadFull(d.r, t.body)
	d.size += m
	if err != nil {
		return d.ioError(err)
	}
	return d.crlf()
}

// set sets the target to what text stands for.
func (t *target) set(text []byte) (ok bool) {
	switch t.kind {
	case targetBytes:
		t.body, ok = append(t.body[:0], text...), true
		if t.body == nil { // an empty string is not null
			t.body = []byte{}
		}
	case targetString:
		t.text, ok = string(text), true
	case targetInt:
		t.num, ok = parseInt(text)
	case targetFloat:
		t.float, ok = parseFloat(text)
	case targetBool:
		t.truth, ok = parseBool(text)
	}
	return ok
}
