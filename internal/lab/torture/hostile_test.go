package torture

import (
	"context"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// hostilePushes are malformed messages for a subscriber, as pushes and as arrays (RESP2).
func hostilePushes() map[string]string {
	replies := map[string]string{}
	for name, push := range map[string]string{
		"alone":                "1\r\n$7\r\nmessage\r\n",
		"pong alone":           "1\r\n$4\r\npong\r\n",
		"pong of a number":     "2\r\n$4\r\npong\r\n:1\r\n",
		"empty":                "0\r\n",
		"number":               "1\r\n:1\r\n",
		"null":                 "1\r\n$-1\r\n",
		"message to nobody":    "3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$1\r\nx\r\n",
		"message of a number":  "3\r\n$7\r\nmessage\r\n$7\r\nchannel\r\n:1\r\n",
		"message without text": "2\r\n$7\r\nmessage\r\n$7\r\nchannel\r\n",
		"long message":         "4\r\n$7\r\nmessage\r\n$7\r\nchannel\r\n$1\r\na\r\n$1\r\na\r\n",
		"pattern":              "4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$7\r\nchannel\r\n$1\r\na\r\n",
		"confirmation alone":   "1\r\n$9\r\nsubscribe\r\n",
		"confirmation of text": "3\r\n$9\r\nsubscribe\r\n$7\r\nchannel\r\n$1\r\na\r\n",
		"foreign confirmation": "3\r\n$9\r\nsubscribe\r\n$5\r\nother\r\n:1\r\n",
		"unsubscribed":         "3\r\n$11\r\nunsubscribe\r\n$7\r\nchannel\r\n:0\r\n",
		"unsubscribed null":    "3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n",
		"moved shard":          "3\r\n$12\r\nsunsubscribe\r\n$7\r\nchannel\r\n:0\r\n",
		"invalidate":           "2\r\n$10\r\ninvalidate\r\n*-1\r\n",
		"unknown kind":         "2\r\n$5\r\nother\r\n+x\r\n",
		"many":                 "9\r\n" + strings.Repeat("$1\r\na\r\n", 9),
	} {
		replies[name+", push"], replies[name+", array"] = ">"+push, "*"+push
	}
	return replies
}

// hostileServer returns a server that answers handshakes correctly, and every other command with
// reply.
func hostileServer(t *testing.T, reply string) *chaos.ScriptedServer {
	return chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		if r.Cmd == "CLIENT" {
			_, err := io.WriteString(c, ":1\r\n")
			return err
		}
		if _, err := io.WriteString(c, reply); err != nil {
			return err
		}
		return io.EOF
	}})
}

// entries has a function for each kind of socket that reads bytes of a server. The function sends a
// request to a hostile server, and returns the error.
var entries = map[string]func(ctx context.Context, addr string, opts redisconn.Opts) error{
	"shared": withConn(func(ctx context.Context, c *redisconn.Connection) error {
		var typed int64
		_ = redis.SyncCtx{S: c}.DoInto(ctx, &typed, "GET", "a")
		_, _ = redis.SyncCtx{S: c}.SendTransaction(ctx, []redis.Request{redis.Req("GET", "a")})
		return redis.AsError(redis.SyncCtx{S: c}.Do(ctx, "GET", "a"))
	}),
	"dedicated": withConn(func(ctx context.Context, c *redisconn.Connection) error {
		return redis.AsError(redis.SyncCtx{S: c}.Do(ctx, "BLPOP", "a", 0))
	}),
	"session": withConn(func(ctx context.Context, c *redisconn.Connection) error {
		return redis.WithSession(ctx, c, "a", func(s *redis.Session) error { return redis.AsError(s.Do("GET", "a")) })
	}),
	"push": withConn(func(ctx context.Context, c *redisconn.Connection) error {
		s, err := redispubsub.New(c, redispubsub.Opts{})
		if err != nil {
			return err
		}
		defer s.Close()
		sub := s.NewSubscription(redispubsub.SubscriptionOpts{})
		return sub.Subscribe(ctx, redispubsub.Channel("channel"), redispubsub.Pattern("*"), redispubsub.Sharded("channel"))
	}),
	"cluster": func(ctx context.Context, addr string, opts redisconn.Opts) error {
		c, err := rediscluster.NewCluster(ctx, []string{addr}, rediscluster.Opts{HostOpts: opts})
		if err == nil {
			c.Close()
		}
		return err
	},
	"replicated": func(ctx context.Context, addr string, opts redisconn.Opts) error {
		c, err := rediscluster.NewReplicated(ctx, []string{addr}, rediscluster.Opts{HostOpts: opts})
		if err != nil {
			return err
		}
		defer c.Close()
		return redis.AsError(redis.SyncCtx{S: c}.Do(ctx, "GET", "a"))
	},
	"sentinel": func(ctx context.Context, addr string, opts redisconn.Opts) error {
		c, err := rediscluster.NewSentinel(ctx, []string{addr}, "main", rediscluster.Opts{HostOpts: opts})
		if err != nil {
			return err
		}
		defer c.Close()
		return redis.AsError(redis.SyncCtx{S: c}.Do(ctx, "GET", "a"))
	},
}

func withConn(f func(ctx context.Context, c *redisconn.Connection) error) func(context.Context, string, redisconn.Opts) error {
	return func(ctx context.Context, addr string, opts redisconn.Opts) error {
		c, err := redisconn.Connect(context.Background(), addr, opts)
		if err != nil {
			return err
		}
		defer c.Close()
		return f(ctx, c)
	}
}

// T31: each entry gets hostile replies. The process survives, malformed replies are typed errors,
// and no goroutine or socket is left.
func TestT31HostileBytes(t *testing.T) {
	drill.Rotate(t)
	family := oracle.NewFamily()
	bad := hostile()
	replies := maps.Clone(bad)
	maps.Copy(replies, hostilePushes())
	for name, enter := range entries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for what, reply := range replies {
				if rand.IntN(long(1, 3)) > 0 {
					continue
				}
				s := hostileServer(t, reply)
				for _, protocol := range []int{2, 3} {
					opts := untimed()
					opts.Logger, opts.Protocol = redisconn.NoopLogger{}, protocol
					ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
					err := enter(ctx, s.Addr(), opts)
					cancel()
					if _, fails := bad[what]; fails {
						require.NotNil(t, redis.AsErrorx(err), "%s: %v", what, err)
					}
				}
				s.Close()
			}
		})
	}
	t.Cleanup(func() {
		report := &oracle.Report{}
		family.Settle(report, endWithin, append(engines, "redispipe/redispubsub.")...)
		passes(t, report)
	})
}

// FuzzEntries feeds bytes to one entry. Nothing may panic, and errors must have types.
func FuzzEntries(f *testing.F) {
	names := slices.Sorted(maps.Keys(entries))
	for i := range names {
		for _, reply := range hostilePushes() {
			f.Add(uint8(i), true, reply)
		}
		f.Add(uint8(i), false, "*2\r\n$1\r\na\r\n*0\r\n")
	}
	f.Fuzz(func(t *testing.T, entry uint8, resp3 bool, reply string) {
		s := hostileServer(t, reply)
		defer s.Close()
		opts := untimed()
		opts.Logger, opts.Protocol = redisconn.NoopLogger{}, 2
		if resp3 {
			opts.Protocol = 3
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
		defer cancel()
		if err := entries[names[int(entry)%len(names)]](ctx, s.Addr(), opts); err != nil {
			require.NotNil(t, redis.AsErrorx(err), "%v", err)
		}
	})
}
