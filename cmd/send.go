package cmd

import (
	"context"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisreply"
)

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
		return true, redis.SyncCtx{S: s}.DoInto(ctx, allocated, r.name, args...)
	}
	if status, is := dst.(*redisreply.Done); is {
		res := redis.SyncCtx{S: s}.Do(ctx, r.name, args...)
		if err = redis.Err(res); err == nil {
			err = status.UnmarshalRedis(res)
		}
		return true, err
	}
	return redis.DoScalar(ctx, s, dst, r.name, args...)
}

// doIn is do with a connection that has its context.
func (r *request) doIn(s Caller, dst any) error { return s.DoInto(dst, r.name, r.args()...) }

// public returns the request as package redis has it.
func (r *request) public() redis.Request { return redis.Request{Cmd: r.name, Args: r.args()} }

func (r *request) String() string { return r.public().String() }
