package cmd

import (
	"context"

	"github.com/joomcode/redispipe/redis"
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
func (c Cmd[T]) Into(dst *T) redis.Reading { return c.request.public().Into(dst) }

// Request returns the request that is sent.
func (c Cmd[T]) Request() redis.Request { return c.request.public() }

// String describes the command without its arguments: see [redis.Request.String].
func (c Cmd[T]) String() string { return c.request.String() }
