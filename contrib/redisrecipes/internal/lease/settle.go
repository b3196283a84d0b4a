package lease

import (
	"context"
	"errors"
	"time"

	"github.com/joomcode/redispipe/redis"
)

const (
	firstPause   = 10 * time.Millisecond
	longestPause = time.Second
)

// Settle makes a call, which may run several times, until the server has answered or ctx is done. If
// one of the calls may have run, the error never says not sent.
func Settle[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	var unknown error
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		v, err := call(ctx)
		if err == nil {
			return v, nil
		}
		again := Again(err)
		if Unknown(err) {
			unknown = err
		}
		if again {
			again = Sleep(ctx, pause)
		}
		if !again && unknown != nil {
			return v, unknown
		}
		if !again {
			return v, err
		}
	}
}

// Run runs a script that ends a lease until the outcome is known, or ctx is done. It reports whether
// the owner had the lease. It returns true as well if an earlier attempt may have ended the lease.
func Run(ctx context.Context, db redis.Sender, script *redis.Script, keys []string, args ...any) (had bool, err error) {
	may := false
	had, err = Settle(ctx, func(ctx context.Context) (bool, error) {
		had, err := redis.As[bool](script.Do(ctx, db, keys, args...))
		may = may || err != nil && Unknown(err)
		return had, err
	})
	return had || may, err
}

// Finish calls Run, but for no longer than ttl, because the lease then has ended by itself. If ctx is done first,
// Finish returns, and a goroutine continues until ttl has passed or the client is closed.
func Finish(ctx context.Context, ttl time.Duration, db redis.Sender, script *redis.Script, keys []string, args ...any) (had bool, err error) {
	timed, cancel := context.WithTimeout(ctx, ttl)
	defer cancel()
	had, err = Run(timed, db, script, keys, args...)
	if err != nil && ctx.Err() != nil {
		Abandon(ctx, ttl, db, script, keys, args...)
	}
	return had, err
}

// Abandon starts Finish in a goroutine, and does not wait.
func Abandon(ctx context.Context, ttl time.Duration, db redis.Sender, script *redis.Script, keys []string, args ...any) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ttl)
	go func() {
		defer cancel()
		_, _ = Run(ctx, db, script, keys, args...)
	}()
}

// Unknown reports whether the request that ended with err may have run.
func Unknown(err error) bool { return errors.Is(err, redis.ErrUnknown) }

// Again reports whether a retry may help a request that may safely run twice.
func Again(err error) bool { return Unknown(err) || redis.SafeToRetry(err) }

// Sleep waits for d. It returns false if ctx ends first.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
