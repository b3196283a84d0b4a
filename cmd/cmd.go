package cmd

import (
	"context"
	"reflect"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisreply"
)

// Cmd is a command with its arguments, and the type of its result. It is a value: it can be
// sent any number of times, by any number of goroutines. It refers to byte slices among its
// arguments: don't change them before it is sent.
//
// It is a [redis.Command], so [redis.Batch], [redis.Tx] and mocks of package redistest take it.
type Cmd[T any] struct{ request request }

var _ redis.Command = Cmd[any]{}

// Do sends the command and returns its result, until ctx is done. The error is that of
// [redis.DoAs]: of the request, or of a reply that is not a T. In particular it is
// a [redis.ErrResponseNil] for null, unless T is a slice, a map, a pointer or any.
// [redis.SafeToRetry] says whether the command can be sent again.
func (c Cmd[T]) Do(ctx context.Context, s redis.Sender) (T, error) {
	var result T
	if done, err := c.request.do(ctx, s, &result, nil); done {
		return result, err
	}
	allocated := new(T)
	_, err := c.request.do(ctx, s, nil, allocated)
	return *allocated, err
}

// Caller is what has a connection, or a context, of its own: a [*redis.Session], a [*redis.Tx]
// or a [redis.Sync].
type Caller interface {
	DoInto(dst any, cmd string, args ...any) error
}

// DoIn is Do with a connection that has its context.
func (c Cmd[T]) DoIn(s Caller) (T, error) {
	var result T
	err := c.request.doIn(s, &result)
	return result, err
}

// Into returns the command with the variable that its result is to be read into, for
// [redis.Batch].
func (c Cmd[T]) Into(dst *T) redis.Reading { return c.request.public().Into(c.request.place(dst)) }

// Request returns the request that is sent.
func (c Cmd[T]) Request() redis.Request { return c.request.public() }

// String describes the command without its arguments: see [redis.Request.String].
func (c Cmd[T]) String() string { return c.request.String() }

// inline is for how many words a request has room. SET with an expiration and a condition has
// five.
const inline = 5

// request is a command with its arguments.
type request struct {
	name      string
	answersOK bool // though the result is a number
	n         int  // words
	words     [inline]word
	more      []any // behind them
}

// add adds a word. It is not inlined, for the size of programs: an option has several.
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

// args returns the arguments as package redis takes them. It is not inlined, as add is not.
//
//go:noinline
func (r *request) args() []any {
	args := make([]any, 0, r.n+len(r.more))
	for i := range r.words[:r.n] {
		args = append(args, r.words[i].arg())
	}
	return append(args, r.more...)
}

// do sends the request, and reads its reply into what dst points to, if that is a single value.
// Else it returns false, and nothing is sent, unless there is another place, which is allocated:
// dst may be on its caller's stack. It stands here once for the results of all types.
func (r *request) do(ctx context.Context, s redis.Sender, dst, allocated any) (done bool, err error) {
	// The interfaces are on the stack, each in a place of its own: made in a loop, or by
	// another function, they would be allocated.
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
	return redis.SyncCtx{S: s}.DoScalar(ctx, send.Key{}, dst, r.name, args...)
}

// doIn is do with a connection that has its context.
func (r *request) doIn(s Caller, dst any) error { return s.DoInto(r.place(dst), r.name, r.args()...) }

// place returns what the reply is read into, on the way to dst.
func (r *request) place(dst any) any {
	if n, is := dst.(*int64); is && r.answersOK {
		return (*done)(n)
	}
	return dst
}

// done is a number that is 1 if the reply is OK.
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

// answersList has nothing sent if a reply that is a list can't be read into a t.
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

// public returns the request as package redis has it.
func (r *request) public() redis.Request { return redis.Request{Cmd: r.name, Args: r.args()} }

func (r *request) String() string { return r.public().String() }
