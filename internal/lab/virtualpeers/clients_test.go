package virtualpeers

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/gomodule/redigo/redis"
	"github.com/mediocregopher/radix/v4"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual"
)

func TestRedigo(t *testing.T) {
	conn := connect(t, server.Addr(), redisconn.Opts{})
	dial := redisvirtual.Dialer(conn)
	pool := &redis.Pool{Dial: func() (redis.Conn, error) {
		return redis.Dial("tcp", conn.Addr(), redis.DialContextFunc(dial), redis.DialClientName("guest"), redis.DialDatabase(0))
	}}
	defer func() { _ = pool.Close() }()
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			c := pool.Get()
			defer func() { _ = c.Close() }()
			key := fmt.Sprint("redigo:", i)
			for n := range 100 {
				if _, err := c.Do("SET", key, n); err != nil {
					t.Error(err)
				}
				if got, err := redis.Int(c.Do("GET", key)); err != nil || got != n {
					t.Error(got, err)
				}
			}
			for _, cmd := range []string{"MULTI", "INCR", "GET"} {
				args := []any{key}
				if cmd == "MULTI" {
					args = nil
				}
				if err := c.Send(cmd, args...); err != nil {
					t.Error(err)
				}
			}
			if got, err := redis.Ints(c.Do("EXEC")); err != nil || len(got) != 2 || got[0] != 100 || got[1] != 100 {
				t.Error(got, err)
			}
			if got, err := redis.String(c.Do("CLIENT", "GETNAME")); err != nil || got != "guest" {
				t.Error(got, err)
			}
		})
	}
	all.Wait()
	c := pool.Get()
	defer func() { _ = c.Close() }()
	sub := redis.PubSubConn{Conn: c}
	require.NoError(t, sub.Subscribe("redigo"))
	require.IsType(t, redis.Subscription{}, sub.Receive())
	other := pool.Get()
	defer func() { _ = other.Close() }()
	_, err := other.Do("PUBLISH", "redigo", "hello")
	require.NoError(t, err)
	require.Equal(t, "hello", string(sub.Receive().(redis.Message).Data))
}

// dialer is the type of dialer that radix takes.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

func (d dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return d(ctx, network, addr)
}

func TestRadix(t *testing.T) {
	for _, protocol := range []string{"", "3"} {
		conn := connect(t, server.Addr(), redisconn.Opts{Protocol: 2 + len(protocol)})
		ctx := context.Background()
		pool, err := radix.PoolConfig{Size: 4, Dialer: radix.Dialer{NetDialer: dialer(redisvirtual.Dialer(conn)), Protocol: protocol}}.New(ctx, "tcp", conn.Addr())
		require.NoError(t, err)
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				key := fmt.Sprint("radix:", i)
				for n := range 100 {
					if err := pool.Do(ctx, radix.FlatCmd(nil, "SET", key, n)); err != nil {
						t.Error(err)
					}
					var got int
					if err := pool.Do(ctx, radix.Cmd(&got, "GET", key)); err != nil || got != n {
						t.Error(got, err)
					}
				}
			})
		}
		all.Wait()
		p := radix.NewPipeline()
		var one, two string
		p.Append(radix.Cmd(nil, "SET", "radix", "1"))
		p.Append(radix.Cmd(&one, "GET", "radix"))
		p.Append(radix.Cmd(&two, "ECHO", "2"))
		require.NoError(t, pool.Do(ctx, p))
		require.Equal(t, "12", one+two)
		require.NoError(t, pool.Close())
	}
}

func TestRueidis(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		conn := connect(t, server.Addr(), redisconn.Opts{Protocol: protocol})
		dial := redisvirtual.Dialer(conn)
		c, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{conn.Addr()}, DisableCache: true,
			DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return dial(ctx, "tcp", addr)
			},
		})
		require.NoError(t, err)
		ctx := context.Background()
		var all sync.WaitGroup
		for i := range 64 {
			all.Go(func() {
				key := fmt.Sprint("rueidis:", i)
				for n := range 100 {
					if err := c.Do(ctx, c.B().Set().Key(key).Value(fmt.Sprint(n)).Build()).Error(); err != nil {
						t.Error(err)
					}
					if got, err := c.Do(ctx, c.B().Get().Key(key).Build()).AsInt64(); err != nil || got != int64(n) {
						t.Error(got, err)
					}
				}
			})
		}
		all.Wait()
		require.ErrorIs(t, c.Do(ctx, c.B().Blpop().Key("rueidis:list").Timeout(0.01).Build()).Error(), rueidis.Nil)
		c.Close()
	}

}
