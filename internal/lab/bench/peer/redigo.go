package peer

import (
	"context"
	"time"

	"github.com/gomodule/redigo/redis"
)

// redigoConns bounds the pool: more connections than this made it slower here.
const redigoConns = 128

var redigoPool = Driver{
	Name: "redigo", Module: "github.com/gomodule/redigo", How: "Pool, a connection for each caller up to 128",
	NoCluster: true, Pipelines: true,
	Open: func(o Options) (Client, error) {
		size := min(max(o.Callers, 1), redigoConns)
		dial := []redis.DialOption{
			redis.DialReadTimeout(3 * time.Second), redis.DialWriteTimeout(3 * time.Second),
		}
		if o.TLS != nil {
			dial = append(dial, redis.DialUseTLS(true), redis.DialTLSConfig(o.TLS))
		}
		return &redigoClient{pool: &redis.Pool{
			MaxIdle: size, MaxActive: size, Wait: true,
			DialContext: func(ctx context.Context) (redis.Conn, error) {
				return redis.DialContext(ctx, "tcp", o.Addrs[0], dial...)
			},
		}}, nil
	},
}

type redigoClient struct{ pool *redis.Pool }

func (c *redigoClient) Set(ctx context.Context, key string, value []byte) error {
	conn, err := c.pool.GetContext(ctx)
	if err != nil {
		return err
	}
	_, err = conn.Do("SET", key, value)
	_ = conn.Close()
	return err
}

func (c *redigoClient) Get(ctx context.Context, key string) ([]byte, error) {
	conn, err := c.pool.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	b, err := redis.Bytes(conn.Do("GET", key))
	_ = conn.Close()
	return b, err
}

func (c *redigoClient) Pipeline(ctx context.Context, keys []string, value []byte) (int, error) {
	conn, err := c.pool.GetContext(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close() //nolint:errcheck // the pool's
	for _, k := range keys {
		if err := conn.Send("SET", k, value); err != nil {
			return 0, err
		}
		if err := conn.Send("GET", k); err != nil {
			return 0, err
		}
	}
	if err := conn.Flush(); err != nil {
		return 0, err
	}
	right := 0
	for range keys {
		if _, err := conn.Receive(); err != nil {
			return right, err
		}
		b, err := redis.Bytes(conn.Receive())
		if err != nil {
			return right, err
		}
		if len(b) == len(value) {
			right += 2
		}
	}
	return right, nil
}

func (c *redigoClient) Close() { _ = c.pool.Close() }
