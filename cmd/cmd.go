package cmd

import (
	"context"
	"reflect"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisreply"
)

// Cmd is a command with its arguments and the type of its result. You may send it any number of times,
// and concurrently. It refers to byte slices among its arguments: don't change them before it is sent.
//
// A Cmd is a [redis.Command], so you can pass it to [redis.Batch], [redis.Tx] and mocks of package
// redistest.
type Cmd[T any] struct{ request request }

var _ redis.Command = Cmd[any]{}

// Do sends the command and returns its result. It returns early when ctx is done. Like [redis.DoAs], it
// returns the error of the request, or an error if the reply is not a T. In particular, for null it
// returns a [redis.ErrResponseNil], unless T is a slice, a map, a pointer or any. [redis.SafeToRetry]
// reports whether you may send the command again.
func (c Cmd[T]) Do(ctx context.Context, s redis.Sender) (T, error) {
	var result T
	if done, err := c.request.do(ctx, s, &result, nil); done {
		return result, err
	}
	allocated := new(T)
	_, err := c.request.do(ctx, s, nil, allocated)
	return *allocated, err
}

// Caller is a sender whose calls take no context: a [*redis.Session], a [*redis.Tx] or a [redis.Sync].
type Caller interface {
	DoInto(dst any, cmd string, args ...any) error
}

// DoIn is like Do, for a sender whose calls take no context.
func (c Cmd[T]) DoIn(s Caller) (T, error) {
	var result T
	err := c.request.doIn(s, &result)
	return result, err
}

// Into returns the command with the variable for its result, for [redis.Batch].
func (c Cmd[T]) Into(dst *T) redis.Reading { return c.request.public().Into(c.request.place(dst)) }

// Request returns the request.
func (c Cmd[T]) Request() redis.Request { return c.request.public() }

// String describes the command without its arguments: see [redis.Request.String].
func (c Cmd[T]) String() string { return c.request.String() }

// inline is the number of words for which a request has room. SET with an expiration and a condition
// has five.
const inline = 5

// request is a command with its arguments.
type request struct {
	name      string
	answersOK bool // the server may answer OK where the result is a number
	n         int  // the number of words
	words     [inline]word
	more      []any // the words after the first inline ones
}

// add adds a word. It is not inlined, to keep programs small: an option adds several words.
//
//go:noinline
func (r *request) add(w word) {
	if r.n < inline && r.more == nil {
		r.words[r.n] = w
		r.n++
		return
	}
	r.more = append(r.more, w.arg())
}

func (r *request) token(token string) { r.add(textOf(token)) }

// args returns the arguments in the form of package redis. Like add, it is not inlined.
//
//go:noinline
func (r *request) args() []any {
	args := make([]any, 0, r.n+len(r.more))
	for i := range r.words[:r.n] {
		args = append(args, r.words[i].arg())
	}
	return append(args, r.more...)
}

// do sends the request, and reads its reply into the variable that dst points to, if that is a single
// value. Otherwise it uses allocated, because dst may be on its caller's stack; if allocated is nil, it
// sends nothing and returns false. It is not generic, so that programs have it only once.
func (r *request) do(ctx context.Context, s redis.Sender, dst, allocated any) (done bool, err error) {
	// The interfaces are on the stack, each in its own variable. If a loop or another function made
	// them, they would be allocated.
	var words [inline]any
	switch r.n {
	case 5:
		words[4] = r.words[4].arg()
		fallthrough
	case 4:
		words[3] = r.words[3].arg()
		fallthrough
	case 3:
		words[2] = r.words[2].arg()
		fallthrough
	case 2:
		words[1] = r.words[1].arg()
		fallthrough
	case 1:
		words[0] = r.words[0].arg()
	}
	args := words[:r.n]
	if r.more != nil {
		args = r.args()
	}
	if allocated != nil {
		return true, redis.SyncCtx{S: s}.DoInto(ctx, r.place(allocated), r.name, args...)
	}
	if r.answersOK {
		return false, nil
	}
	if status, is := dst.(*redisreply.Done); is {
		res := redis.SyncCtx{S: s}.Do(ctx, r.name, args...)
		if err = redis.Err(res); err == nil {
			err = status.UnmarshalRedis(res)
		}
		return true, err
	}
	switch dst := dst.(type) {
	case *int64:
		*dst, err = redis.DoAs[int64](ctx, s, r.name, args...)
	case *string:
		*dst, err = redis.DoAs[string](ctx, s, r.name, args...)
	case *[]byte:
		*dst, err = redis.DoAs[[]byte](ctx, s, r.name, args...)
	case *float64:
		*dst, err = redis.DoAs[float64](ctx, s, r.name, args...)
	case *bool:
		*dst, err = redis.DoAs[bool](ctx, s, r.name, args...)
	default:
		return false, nil
	}
	return true, err
}

// doIn is do for a sender whose calls take no context.
func (r *request) doIn(s Caller, dst any) error {
	if sync, is := s.(*redis.Sync); s == nil || is && sync == nil {
		s = redis.Sync{} // it returns the error of a nil sender
	}
	return s.DoInto(r.place(dst), r.name, r.args()...)
}

// place returns the variable for the reply, from which dst is then set.
func (r *request) place(dst any) any {
	if n, is := dst.(*int64); is && r.answersOK {
		return (*done)(n)
	}
	return dst
}

// done is a number that is read as 1 if the reply is OK.
type done int64

// UnmarshalRedis implements [redis.ResultUnmarshaler].
func (d *done) UnmarshalRedis(res any) error {
	ok, err := redis.As[redisreply.Done](res)
	*d = 0
	if ok {
		*d = 1
	}
	return err
}

// answersList makes the request fail without being sent if a list can't be read into a t.
func (r *request) answersList(t reflect.Type) {
	list := t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 || t.Kind() == reflect.Interface
	if !list && !reflect.PointerTo(t).Implements(reflect.TypeFor[redis.ResultUnmarshaler]()) {
		r.more = append(r.more, redis.Args(noList{t})...)
	}
}

// noList is an argument that can't be sent.
type noList struct{ t reflect.Type }

// MarshalRedis implements [redis.ArgMarshaler].
func (n noList) MarshalRedis() (any, error) {
	return nil, redis.ErrArgumentType.New("the reply is a list, which can't be read as %v", n.t)
}

// public returns the request in the form of package redis.
func (r *request) public() redis.Request { return redis.Request{Cmd: r.name, Args: r.args()} }

func (r *request) String() string { return r.public().String() }
