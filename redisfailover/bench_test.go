package redisfailover_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/internal/send"
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

// instant is a sender that answers at once.
type instant struct{ redis.Sender }

func (instant) SendEncoded(_ *send.Request, cb redis.Future, n uint64) { cb.Resolve("value", n) }

func (instant) WantsSlot() bool { return false }

func (instant) OpenDedicated(context.Context, []string, error) (send.Dedicated, error) {
	panic("no sessions")
}

func (instant) Requests() uint64 { return 0 }

func (instant) Close() {}

// BenchmarkOverhead compares a client with failover to a plain one, without a connection.
func BenchmarkOverhead(b *testing.B) {
	one, two := &instant{}, &instant{}
	db, err := redisfailover.Open(b.Context(), []redisfailover.Member{{Sender: one}, {Sender: two}}, redisfailover.Opts{Logger: redisfailover.NoopLogger{}})
	require.NoError(b, err)
	defer db.Close()
	for name, do := range map[string]func(ctx context.Context, cmd string, args ...any) any{
		"plain": redis.SyncCtx{S: redis.WithRetry(one, redis.RetryOpts{})}.Do, "failover": db.Do,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = do(context.Background(), "GET", "key")
			}
		})
	}
}
