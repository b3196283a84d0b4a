package redispipe_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redisvirtual"
	"github.com/joomcode/redispipe/testbed"
)

// counted is a future that counts how often it was resolved.
type counted struct {
	n    atomic.Int32
	done chan struct{}
}

func (c *counted) Cancelled() error { return nil }

func (c *counted) Resolve(any, uint64) {
	if c.n.Add(1) == 1 {
		close(c.done)
	}
}

// again returns a function that calls f until f returns an error.
func again(f func() error) func() error {
	return func() (err error) {
		for err == nil {
			err = f()
		}
		return err
	}
}

// requests returns functions, one for each kind of request. Each sends its request again and again
// until the client is closed. futures has the futures that were resolved.
func requests(c *redispipe.Client, key string) (all map[string]func() error, futures *sync.Map) {
	ctx, futures := context.Background(), new(sync.Map)
	get := redis.Req("GET", key)
	return map[string]func() error{
		"Do":       again(func() error { return redis.AsError(c.Do(ctx, "SET", key, "v")) }),
		"DoMany":   again(func() error { return redis.AsError(c.DoMany(ctx, []redis.Request{get, redis.Req("GET", "other")})[1]) }),
		"Transact": again(func() error { _, err := c.Transact(ctx, []redis.Request{get, get}); return err }),
		"Watch": again(func() error {
			_, err := c.Watch(ctx, []string{key}, func(tx *redis.Tx) error { tx.Queue("SET", key, "w"); return nil })
			return err
		}),
		"Session": again(func() error {
			return c.Session(ctx, key, func(s *redis.Session) error { return redis.AsError(s.Do("GET", key)) })
		}),
		"BLPOP":        again(func() error { return redis.AsError(c.Do(ctx, "BLPOP", key+"none", 0)) }),
		"BLPOP, short": again(func() error { return redis.AsError(c.Do(ctx, "BLPOP", key+"none", 0.001)) }),
		"XADD":         again(func() error { return redis.AsError(c.Do(ctx, "XADD", key+"stream", "*", "f", "v")) }),
		"PUBLISH":      again(func() error { return redis.AsError(c.Do(ctx, "PUBLISH", key, "m")) }),
		"Keys": again(func() error {
			for _, err := range redis.Keys(ctx, c, redis.ScanOpts{Count: 1}) {
				if err != nil {
					return err
				}
			}
			return nil
		}),
		"futures": again(func() error {
			one, transaction, blocking := &counted{done: make(chan struct{})}, &counted{done: make(chan struct{})}, &counted{done: make(chan struct{})}
			c.Send(get, one, 0)
			c.SendTransaction([]redis.Request{get}, transaction, 0)
			c.Send(redis.Req("BLPOP", key+"none", 0.001), blocking, 0)
			for _, f := range []*counted{one, transaction, blocking} {
				<-f.done
				futures.Store(f, true)
			}
			return redis.AsError(c.Do(ctx, "PING"))
		}),
	}, futures
}

// readers returns functions like those of requests, for features that are built on requests.
func readers(c *redispipe.Client, key string) map[string]func() error {
	ctx := context.Background()
	cache, err := rediscache.New(c, rediscache.Opts{})
	return map[string]func() error{
		"cache": again(func() error {
			if err != nil {
				return err
			}
			return redis.AsError(redis.SyncCtx{S: cache}.Do(ctx, "GET", key))
		}),
		"GroupReader": func() (last error) {
			r, err := redis.NewGroupReader(c, redis.GroupOpts{Stream: key + "stream", Group: "g", Consumer: "c"})
			if err != nil {
				return err
			}
			for msg, err := range r.Messages(ctx) {
				if last = err; err == nil {
					_ = r.Ack(msg.ID)
				}
			}
			return last
		},
		"subscriber": again(func() error {
			sub := c.Subscriber().NewSubscription(redispubsub.SubscriptionOpts{})
			defer sub.Close()
			if err := sub.Subscribe(ctx, redispubsub.Channel(key)); err != nil {
				return err
			}
			for _, err := range sub.Events(ctx) {
				return err
			}
			return sub.Err()
		}),
		"virtual": again(func() error {
			v := redisvirtual.Conn(c)
			defer func() { _ = v.Close() }()
			if _, err := fmt.Fprintf(v, "WATCH %s\r\nMULTI\r\nGET %[1]s\r\nEXEC\r\nBLPOP %[1]snone 0.001\r\nSUBSCRIBE %[1]s\r\n", key); err != nil {
				return err
			}
			_, err := v.Read(make([]byte, 1))
			return err
		}),
	}
}

// When a client is closed, everything that is under way ends: each future is resolved once, and no
// goroutine or socket is left. Shutdown waits for a blocking command only as long as unblocking
// takes.
func TestEndOfEverything(t *testing.T) {
	drill.Rotate(t)
	server, nodes := testbed.NewServer(t), testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1})
	shutdown := func(c *redispipe.Client) { require.NoError(t, c.Shutdown(context.Background())) }
	ends := map[string]func(*redispipe.Client){
		"Close":    (*redispipe.Client).Close,
		"Shutdown": shutdown,
		"both": func(c *redispipe.Client) {
			var all sync.WaitGroup
			all.Go(func() { _ = c.Shutdown(context.Background()) })
			all.Go(func() { _ = c.Shutdown(context.Background()) })
			all.Go(c.Close)
			all.Wait()
		},
	}
	for name, end := range ends {
		for _, url := range []string{"redis://" + server.Addr(), "redis-cluster://" + strings.Join(nodes.Addrs(), ",")} {
			sockets := descriptors()
			c, err := redispipe.Open(t.Context(), url, redispipe.Logger(nil))
			require.NoError(t, err)
			all, futures := requests(c, "{end}")
			maps.Copy(all, readers(c, "{end}"))
			var callers sync.WaitGroup
			for range 2 {
				for what, f := range all {
					callers.Go(func() {
						if f() == nil {
							t.Errorf("%s: %s ends without an error", name, what)
						}
					})
				}
			}
			require.Eventually(t, func() bool { return c.Stats().Total.Dedicated.Open > 2 }, time.Minute, time.Millisecond)
			end(c)
			callers.Wait()
			futures.Range(func(f, _ any) bool {
				require.EqualValues(t, 1, f.(*counted).n.Load())
				return true
			})
			requireNoneLeft(t)
			require.Eventually(t, func() bool { return descriptors() <= sockets }, time.Minute, time.Millisecond, "%s leaves a socket", name)
		}
	}
}

// descriptors returns the number of open file descriptors of this process.
func descriptors() int {
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}
