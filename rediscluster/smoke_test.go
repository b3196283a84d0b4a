package rediscluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
	"github.com/stretchr/testify/require"
)

func TestSmoke(t *testing.T) {
	began := time.Now()
	tb := testbed.NewCluster(t)
	fmt.Println("up", time.Since(began))
	began = time.Now()
	c, err := NewCluster(context.Background(), tb.Addrs()[:1], Opts{})
	require.NoError(t, err)
	defer c.Close()
	fmt.Println("cluster", time.Since(began))
	s := redis.Sync{S: c}
	for i := range 1000 {
		require.Equal(t, "OK", s.Do("SET", fmt.Sprintf("k%d", i), i))
	}
	fmt.Println("set", time.Since(began))
	for _, p := range []ReplicaPolicyEnum{MasterAndSlaves, PreferSlaves} {
		s := redis.Sync{S: c.WithPolicy(p)}
		for i := range 1000 {
			require.Equal(t, fmt.Sprint(i), string(s.Do("GET", fmt.Sprintf("k%d", i)).([]byte)))
		}
	}
	require.Equal(t, "PONG", s.Do("PING"))
	sc := s.Scanner(redis.ScanOpts{Count: 100})
	n := 0
	for {
		keys, err := sc.Next()
		if err == redis.ScanEOF {
			break
		}
		require.NoError(t, err)
		n += len(keys)
	}
	require.Equal(t, 1000, n)
	a := testing.AllocsPerRun(1000, func() { s.Do("SET", "foo", "bar") })
	fmt.Println("allocs", a)
}

func BenchmarkCluster(b *testing.B) {
	tb := testbed.NewCluster(b)
	c, err := NewCluster(context.Background(), tb.Addrs()[:1], Opts{Logger: NoopLogger{}})
	require.NoError(b, err)
	defer c.Close()
	keys := make([]string, 1024)
	for i := range keys {
		keys[i] = fmt.Sprintf("key:%d", i)
	}
	s := redis.Sync{S: c}
	for _, par := range []int{1, 64} {
		b.Run(fmt.Sprint(par*2), func(b *testing.B) {
			b.SetParallelism(par)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					if i%2 == 0 {
						s.Do("SET", keys[i%1024], "0123456789abcdef")
					} else {
						s.Do("GET", keys[i%1024])
					}
				}
			})
		})
	}
}
