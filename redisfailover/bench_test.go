package redisfailover_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisfailover"
	"github.com/joomcode/redispipe/testbed"
)

// direct returns a client of a server.
func direct(t testing.TB, server *testbed.Server) *redispipe.Client {
	db, err := redispipe.Open(context.Background(), "redis://"+server.Addr(), redispipe.Logger(nil))
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return db
}

func over(t testing.TB, server *testbed.Server) *redisfailover.Client {
	db, err := redisfailover.Open(context.Background(), []redisfailover.Member{
		{Sender: direct(t, server)}, {Sender: direct(t, server)},
	}, redisfailover.Opts{Logger: redisfailover.NoopLogger{}})
	require.NoError(t, err)
	return db
}

// BenchmarkDo compares a client with failover to a plain client.
func BenchmarkDo(b *testing.B) {
	server := testbed.NewServer(b)
	for name, db := range map[string]redis.Sender{"plain": direct(b, server), "failover": over(b, server)} {
		for callers, parallel := range map[string]int{"1": 0, "64": 32} {
			b.Run(name+"/"+callers, func(b *testing.B) {
				b.ReportAllocs()
				do := func() {
					if err := redis.Err(redis.SyncCtx{S: db}.Do(b.Context(), "SET", "key", "value")); err != nil {
						b.Error(err)
					}
				}
				if parallel == 0 {
					for b.Loop() {
						do()
					}
					return
				}
				b.SetParallelism(parallel)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						do()
					}
				})
			})
		}
	}
}
