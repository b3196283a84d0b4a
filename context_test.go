package redispipe_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

// frozen returns a connection and a cluster whose servers no longer answer.
func frozen(t *testing.T) (*redisconn.Connection, *rediscluster.Cluster) {
	server, nodes := testbed.NewServer(t), testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1})
	opts := redisconn.Opts{IOTimeout: time.Hour, MaxRequests: 100, Logger: redisconn.NoopLogger{}}
	conn, err := redisconn.Connect(t.Context(), server.Addr(), opts)
	require.NoError(t, err)
	cluster, err := rediscluster.NewCluster(t.Context(), nodes.Addrs(), rediscluster.Opts{HostOpts: opts, Logger: rediscluster.NoopLogger{}})
	require.NoError(t, err)
	require.NoError(t, redis.AsError(redis.Sync{S: cluster}.Do("GET", "k")))
	t.Cleanup(conn.Close)
	t.Cleanup(cluster.Close)
	require.NoError(t, server.Pause())
	t.Cleanup(func() { _ = server.Resume() })
	for i := range nodes.Addrs() {
		require.NoError(t, nodes.Node(i).Pause())
		t.Cleanup(func() { _ = nodes.Node(i).Resume() })
	}
	return conn, cluster
}

// If a context has ended a request, errors.Is reports whether it was cancelled or its deadline has
// passed, and what happened to the request.
func TestContextErrors(t *testing.T) {
	drill.Rotate(t)
	conn, cluster := frozen(t)
	live, err := redisconn.Connect(t.Context(), testbed.NewServer(t).Addr(), redisconn.Opts{IOTimeout: time.Hour, DedicatedConns: 2, Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	t.Cleanup(live.Close)
	taken, err := redis.OpenSession(t.Context(), live, "")
	require.NoError(t, err)
	t.Cleanup(taken.Close)
	subscriber, err := redispubsub.New(conn, redispubsub.Opts{Logger: redispubsub.NoopLogger{}})
	require.NoError(t, err)
	t.Cleanup(subscriber.Close)
	listening, err := redispubsub.New(live, redispubsub.Opts{Logger: redispubsub.NoopLogger{}})
	require.NoError(t, err)
	t.Cleanup(listening.Close)

	get, two := redis.Req("GET", "k"), []redis.Request{redis.Req("GET", "k"), redis.Req("GET", "k")}
	observed := redis.WithHook(conn, redis.NewSlowLog(nil, 0))
	first := func(results []any) error { return redis.AsError(results[0]) }
	type call func(context.Context) error
	calls := map[string]call{
		"blocking": func(ctx context.Context) error {
			return redis.AsError(redis.SyncCtx{S: live}.Do(ctx, "BLPOP", "none", 0))
		},
		"session": func(ctx context.Context) error {
			return redis.WithSession(ctx, live, "", func(s *redis.Session) error { return redis.AsError(s.Do("BLPOP", "none", 0)) })
		},
		"session's transaction": func(ctx context.Context) error {
			return redis.WithSession(ctx, live, "", func(s *redis.Session) error {
				<-ctx.Done()
				_, err := s.SendTransaction(two)
				return err
			})
		},
		"dedicated connections are taken": func(ctx context.Context) error {
			other, err := redis.OpenSession(ctx, live, "")
			if err != nil {
				return err
			}
			defer other.Close()
			_, err = redis.OpenSession(ctx, live, "")
			return err
		},
		"group": func(ctx context.Context) error {
			r, err := redis.NewGroupReader(conn, redis.GroupOpts{Stream: "s", Group: "g", Consumer: "c"})
			require.NoError(t, err)
			require.NoError(t, r.Ack("1-1"))
			return r.Flush(ctx)
		},
		"subscribe": func(ctx context.Context) error {
			return subscriber.NewSubscription(redispubsub.SubscriptionOpts{}).Subscribe(ctx, redispubsub.Channel("c"))
		},
		"events": func(ctx context.Context) error {
			sub := listening.NewSubscription(redispubsub.SubscriptionOpts{})
			for _, err := range sub.Events(ctx) {
				return err
			}
			return nil
		},
		"stream": func(ctx context.Context) error {
			return redis.Err(conn.DoStream(ctx, nil, "GET", "k"))
		},
		"connect": func(ctx context.Context) error {
			_, err := redisconn.Connect(ctx, conn.Addr(), redisconn.Opts{IOTimeout: time.Hour, Logger: redisconn.NoopLogger{}})
			return err
		},
		"new cluster": func(ctx context.Context) error {
			_, err := rediscluster.NewCluster(ctx, []string{conn.Addr()}, rediscluster.Opts{
				HostOpts: redisconn.Opts{IOTimeout: time.Hour}, Logger: rediscluster.NoopLogger{}})
			return err
		},
		"new sentinel": func(ctx context.Context) error {
			_, err := rediscluster.NewSentinel(ctx, []string{conn.Addr()}, "m", rediscluster.Opts{
				HostOpts: redisconn.Opts{IOTimeout: time.Millisecond}, Logger: rediscluster.NoopLogger{}})
			return err
		},
		"new replicated": func(ctx context.Context) error {
			_, err := rediscluster.NewReplicated(ctx, []string{conn.Addr()}, rediscluster.Opts{Logger: rediscluster.NoopLogger{}})
			return err
		},
	}
	for name, s := range map[string]redis.Sender{"connection": conn, "cluster": cluster, "hook": observed} {
		db := redis.SyncCtx{S: s}
		for of, f := range map[string]call{
			"Do":    func(ctx context.Context) error { return redis.AsError(db.Do(ctx, "GET", "k")) },
			"Send":  func(ctx context.Context) error { return redis.AsError(db.Send(ctx, get)) },
			"write": func(ctx context.Context) error { return redis.Err(db.Do(ctx, "SET", "k", 1)) },
			"DoInto": func(ctx context.Context) error {
				var v []string
				return db.DoInto(ctx, &v, "LRANGE", "k", 0, -1)
			},
			"SendMany": func(ctx context.Context) error { return first(db.SendMany(ctx, two)) },
			"Collect":  func(ctx context.Context) error { return redis.Collect(two, db.SendMany(ctx, two)) },
			"SendTransaction": func(ctx context.Context) error {
				_, err := db.SendTransaction(ctx, two)
				return err
			},
			"Next": func(ctx context.Context) error {
				_, err := db.Scanner(ctx, redis.ScanOpts{Cmd: "SSCAN", Key: "k"}).Next()
				return err
			},
			"Members": func(ctx context.Context) error {
				for _, err := range redis.Members[string](ctx, s, redis.ScanOpts{Key: "k"}) {
					return err
				}
				return nil
			},
			"Watch": func(ctx context.Context) error {
				_, err := redis.Watch(ctx, s, []string{"k"}, func(*redis.Tx) error { return nil })
				return err
			},
			"Script": func(ctx context.Context) error {
				return redis.Err(redis.NewScript("return 1").Do(ctx, s, []string{"k"}))
			},
			"blocking": func(ctx context.Context) error { return redis.AsError(db.Do(ctx, "BLPOP", "k", 0)) },
			"each shard": func(ctx context.Context) error {
				return first(rediscluster.DoEachShard(ctx, s, redis.Req("PING")))
			},
		} {
			calls[name+" "+of] = f
		}
	}
	ends := []struct {
		name string
		want error
		ctx  func() (context.Context, context.CancelFunc)
	}{
		{"cancelled before", context.Canceled, func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx, cancel
		}},
		{"cancelled", context.Canceled, func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := time.AfterFunc(20*time.Millisecond, func() { cancel(errors.New("a cause of the user's")) })
			return ctx, func() { stop.Stop(); cancel(nil) }
		}},
		{"deadline before", context.DeadlineExceeded, func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 0)
		}},
		{"deadline", context.DeadlineExceeded, func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 20*time.Millisecond)
		}},
	}
	for name, f := range calls {
		for _, end := range ends {
			t.Run(name+" "+end.name, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := end.ctx()
				defer cancel()
				err := f(ctx)
				requireEnded(t, err, end.want)
			})
		}
	}
}

// requireEnded checks an error that a context has caused.
func requireEnded(t *testing.T, err, want error) {
	t.Helper()
	require.ErrorIs(t, err, want)
	other := context.Canceled
	if errors.Is(want, other) {
		other = context.DeadlineExceeded
	}
	assert.NotErrorIs(t, err, other, "%v", err)
	var timedOut net.Error
	assert.Equal(t, errors.Is(want, context.DeadlineExceeded), errors.As(err, &timedOut) && timedOut.Timeout(), "%v", err)
	assert.NotErrorIs(t, err, redis.Nil)
	if redis.AsErrorx(err).IsOfType(redis.ErrRequestCancelled) {
		assert.Equal(t, redis.OutcomeOf(err) == redis.OutcomeNotSent, errors.Is(err, redis.ErrNotSent), "%v", err)
		assert.Equal(t, redis.OutcomeOf(err) == redis.OutcomeUnknown, errors.Is(err, redis.ErrUnknown), "%v", err)
	}
}

// A request without its own context ends with the context of the connection.
func TestContextOfTheConnection(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := testbed.NewServer(t)
	conn, err := redisconn.Connect(ctx, server.Addr(), redisconn.Opts{IOTimeout: time.Hour, Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	require.NoError(t, server.Pause())
	defer func() { _ = server.Resume() }()
	inFlight := redis.ChanFutured{S: conn}.Send(redis.Req("SET", "k", 1))
	require.Eventually(t, func() bool { s := conn.Stats(); return s.InFlight > 0 && s.Queued == 0 }, time.Minute, time.Millisecond)
	cancel()
	lost := redis.Err(inFlight.Value())
	require.ErrorIs(t, lost, context.Canceled)
	require.ErrorIs(t, lost, redis.ErrUnknown)
	require.NotErrorIs(t, lost, redis.ErrNotSent, "its cause is the end of the connection, which is not sent")
	for name, err := range map[string]error{
		"Sync":        redis.AsError(redis.Sync{S: conn}.Do("GET", "k")),
		"SyncCtx":     redis.AsError(redis.SyncCtx{S: conn}.Do(t.Context(), "GET", "k")),
		"ChanFutured": redis.AsError(redis.ChanFutured{S: conn}.Send(redis.Req("GET", "k")).Value()),
		"SendMany":    redis.AsError(redis.Sync{S: conn}.SendMany([]redis.Request{redis.Req("GET", "k")})[0]),
	} {
		assert.ErrorIs(t, err, context.Canceled, name)
		assert.ErrorIs(t, err, redis.ErrNotSent, name)
	}
}

// The error of a caller that waits for room says that the caller's context has ended.
func TestContextOfWhoWaitsForRoom(t *testing.T) {
	server := testbed.NewServer(t)
	conn, err := redisconn.Connect(t.Context(), server.Addr(), redisconn.Opts{IOTimeout: time.Hour, MaxRequests: 1, Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, server.Pause())
	defer func() { _ = server.Resume() }()
	conn.Send(redis.Req("GET", "k"), nil, 0)
	require.Eventually(t, func() bool { return conn.Pending() == 1 }, time.Minute, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err = redis.AsError(redis.SyncCtx{S: conn}.Do(ctx, "GET", "k"))
	requireEnded(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, redis.ErrNotSent)
	for _, res := range (redis.SyncCtx{S: conn}).SendMany(ctx, []redis.Request{redis.Req("GET", "k"), redis.Req("GET", "k")}) {
		requireEnded(t, redis.AsError(res), context.DeadlineExceeded)
	}
}

// If a server does not answer in time, the error is a time-out like those of Go's own clients, but
// not one of a context.
func TestTimeoutIsANetError(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		client, server := net.Pipe()
		go func() { // answers only PING
			_, _ = bufio.NewReader(server).ReadString('G')
			_, _ = server.Write([]byte("+PONG\r\n"))
			_, _ = io.Copy(io.Discard, server)
		}()
		conn, err := redisconn.Connect(t.Context(), "pipe:1", redisconn.Opts{
			IOTimeout: 50 * time.Millisecond, ReconnectPause: -1, NoClientInfo: true, Logger: redisconn.NoopLogger{},
			Dialer: func(context.Context, string, string) (net.Conn, error) { return client, nil },
		})
		require.NoError(t, err)
		defer conn.Close()
		err = redis.Err(redis.Sync{S: conn}.Do("SET", "k", 1))
		var timedOut net.Error
		require.ErrorAs(t, err, &timedOut)
		require.True(t, timedOut.Timeout())
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrIO))
	})
}
