package h2h

import (
	"context"
	"time"

	"github.com/gomodule/redigo/redis"
)

var redigoPool = entry{
	name: "redigo", module: "github.com/gomodule/redigo",
	safest: "dial, read and write time-outs of 1 s, PING before each use of a connection idle for 1 s",
	open: func(t target) (Subject, error) {
		var opts []redis.DialOption
		pool := &redis.Pool{MaxIdle: 128, MaxActive: 128, Wait: true}
		if t.Safest {
			opts = append(opts, redis.DialConnectTimeout(time.Second),
				redis.DialReadTimeout(time.Second), redis.DialWriteTimeout(time.Second))
			pool.TestOnBorrow = func(c redis.Conn, used time.Time) error {
				if time.Since(used) < time.Second {
					return nil
				}
				_, err := c.Do("PING")
				return err
			}
		}
		pool.DialContext = func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", t.Addr, opts...)
		}
		return redigoSubject{pool}, nil
	},
}

type redigoSubject struct{ pool *redis.Pool }

func (s redigoSubject) Do(ctx context.Context, args ...string) (any, error) {
	conn, err := s.pool.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // back to the pool
	res, err := redis.DoContext(conn, ctx, args[0], anys(args[1:])...)
	return normal(res), err
}

func (s redigoSubject) Close() { _ = s.pool.Close() }
