package cmd

import (
	"context"

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
	r := &c.request
	if r.more != nil {
		return redis.DoAs[T](ctx, s, r.name, r.args()...)
	}
	// The interfaces are on the stack, each in a place of its own: made in a loop, or by
	// another function, they would be allocated.
	args := [inline]any{
		r.words[0].arg(), r.words[1].arg(), r.words[2].arg(),
		r.words[3].arg(), r.words[4].arg(), r.words[5].arg(),
	}
	var result T
	if done, is := any(&result).(*redisreply.Done); is {
		res := redis.SyncCtx{S: s}.Do(ctx, r.name, args[:r.n]...)
		if err := redis.Err(res); err != nil {
			return result, err
		}
		return result, done.UnmarshalRedis(res)
	}
	return redis.DoAs[T](ctx, s, r.name, args[:r.n]...)
}

// Caller is what has a connection, or a context, of its own: a [*redis.Session], a [*redis.Tx]
// or a [redis.Sync].
type Caller interface {
	DoInto(dst any, cmd string, args ...any) error
}

// DoIn is Do with a connection that has its context.
func (c Cmd[T]) DoIn(s Caller) (T, error) {
	var result T
	err := s.DoInto(&result, c.request.name, c.request.args()...)
	return result, err
}

// Into returns the command with the variable that its result is to be read into, for
// [redis.Batch].
func (c Cmd[T]) Into(dst *T) redis.Reading { return c.Request().Into(dst) }

// Request returns the request that is sent.
func (c Cmd[T]) Request() redis.Request {
	return redis.Request{Cmd: c.request.name, Args: c.request.args()}
}

// String describes the command without its arguments: see [redis.Request.String].
func (c Cmd[T]) String() string { return c.Request().String() }
