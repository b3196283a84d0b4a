package rediscluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// scripts runs a script from several goroutines, while all nodes lose their scripts again and again,
// until it is stopped.
type scripts struct {
	stop        chan struct{}
	all         sync.WaitGroup
	ran, missed atomic.Int64
}

func (s *scripts) start(db redis.Sender, nodes []*testbed.Node) {
	s.stop = make(chan struct{})
	push := redis.NewScript(`return redis.call('RPUSH', KEYS[1], ARGV[1])`)
	with := redis.Sync{S: redis.WithScripts(db, push)}
	for g := range 8 {
		keys := []string{fmt.Sprint("list:", g)}
		s.repeat(func() {
			s.count(push.Do(context.Background(), db, keys, 1))
			s.count(with.SendMany([]redis.Request{push.Request(keys, 2)})...)
			results, err := with.SendTransaction([]redis.Request{redis.Req("LLEN", keys[0]), push.Request(keys, 3)})
			s.count(append(results, err)...)
		})
	}
	for _, n := range nodes {
		s.repeat(func() { n.Do("SCRIPT", "FLUSH") })
	}
}

func (s *scripts) repeat(f func()) {
	s.all.Go(func() {
		for {
			select {
			case <-s.stop:
				return
			case <-time.After(10 * time.Millisecond):
				f()
			}
		}
	})
}

func (s *scripts) count(results ...any) {
	for _, res := range results {
		switch err := redis.AsErrorx(res); {
		case err == nil:
			s.ran.Add(1)
		case err.IsOfType(redis.ErrNoScript):
			s.missed.Add(1)
		}
	}
}

// finish stops, and checks that no caller was told that the server lacks the script.
func (s *scripts) finish(t *testing.T) {
	t.Helper()
	close(s.stop)
	s.all.Wait()
	assert.Zero(t, s.missed.Load(), "NOSCRIPT reached a caller")
	assert.NotZero(t, s.ran.Load())
}
