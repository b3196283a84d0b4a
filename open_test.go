package redispipe_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestOpenBadURL(t *testing.T) {
	for _, text := range []string{
		"", "localhost:6379", "http://:canary@host", "redis://:canary@host:port", "redis://:canary@host?nothing=canary",
		"redis://:canary@host?max_redirects=3", "redis-cluster://:canary@host/-1", "unix://canary",
		"redis-sentinel://:canary@host", "redis-replicated://:canary@host?read_only=1", "rediss-cluster://:canary%zz@host",
	} {
		c, err := redispipe.Open(t.Context(), text)
		require.Nil(t, c)
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrURL), "%s: %v", text, err)
		require.NotContains(t, err.Error(), "canary")
		require.ErrorIs(t, err, redis.ErrNotSent)
	}
	var none context.Context
	_, err := redispipe.Open(none, "redis://host")
	require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrContextIsNil), "%v", err)
}

// Settings from URLs and options reach the servers.
func TestOpenOptions(t *testing.T) {
	testbed.Needs(t, testbed.TLS)
	s := testbed.NewServer(t, testbed.Options{Password: "p@ss", TLS: true})
	roots, err := s.ClientTLS()
	require.NoError(t, err)
	secure := redispipe.Conn(func(o *redisconn.Opts) { o.TLSConfig = roots })
	c := open(t, "rediss://:p%40ss@"+s.TLSAddr()+"/3?client_name=given", secure,
		redispipe.Conn(func(o *redisconn.Opts) { o.ClientName += "-and-set" }),
		nil, redispipe.Conn(nil), redispipe.Cluster(nil))
	info, err := redis.As[string](c.Do(t.Context(), "CLIENT", "LIST"))
	require.NoError(t, err)
	require.Contains(t, info, " name=given-and-set ")
	require.Contains(t, info, " db=3 ")

	list := open(t, "rediss-replicated://:p%40ss@"+s.TLSAddr(), secure,
		redispipe.Cluster(func(o *rediscluster.Opts) { o.Name = "mine" }))
	require.Equal(t, "mine", list.Cluster().Name())
	require.Equal(t, "PONG", list.Do(t.Context(), "PING"))

	_, err = redispipe.Open(t.Context(), "rediss://:"+url.QueryEscape("canary")+"@"+s.TLSAddr(), secure, redispipe.Logger(nil))
	require.True(t, redis.AsErrorx(err).IsOfType(redisconn.ErrAuth), "%v", err)
	require.Equal(t, redis.OutcomeOf(err) == redis.OutcomeNotSent, errors.Is(err, redis.ErrNotSent), "%v", err)
	require.NotContains(t, err.Error(), "canary")
}

// A client of one server that is down keeps dialing. With several servers, at least one must report
// the masters.
func TestOpenServersThatAreDown(t *testing.T) {
	s := testbed.NewServer(t)
	require.NoError(t, s.Kill())
	c := open(t, "redis://"+s.Addr())
	once := open(t, "redis://"+s.Addr(), redispipe.Retry(redis.NoRetry))
	require.True(t, redis.SafeToRetry(redis.AsError(once.Do(t.Context(), "SET", "k", 1))))
	once.Close()
	waiting, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answered := make(chan any, 1)
	go func() { answered <- c.Do(waiting, "SET", "k", 1) }()
	go func() {
		answered <- c.Session(waiting, "", func(s *redis.Session) error { return redis.Err(s.Do("PING")) })
	}()
	require.NoError(t, s.Restart())
	require.ElementsMatch(t, []any{"OK", nil}, []any{<-answered, <-answered})

	require.NoError(t, s.Kill())
	for format, want := range map[string]string{
		"redis-cluster://%s": "none of the given addresses", "redis-sentinel://%s/main": "no_sentinel", "redis-replicated://%s": "no_master",
	} {
		require.Eventually(t, func() bool { // a busy machine may notice it too late
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			c, err := redispipe.Open(ctx, fmt.Sprintf(format, s.Addr()), redispipe.Logger(nil))
			return c == nil && strings.Contains(err.Error(), want)
		}, time.Minute, time.Millisecond, want)
	}
	for _, scheme := range []string{"redis-cluster://", "redis-replicated://"} { // these clients need an answer when they are opened
		dials := 0
		_, err := redispipe.Open(t.Context(), scheme+s.Addr(), redispipe.Logger(nil), redispipe.Conn(func(o *redisconn.Opts) {
			o.Dialer = func(context.Context, string, string) (net.Conn, error) {
				dials++
				return nil, errors.New("it is down")
			}
		}))
		require.ErrorContains(t, err, "it is down")
		require.Equal(t, 1, dials)
	}
	c.Close()
	requireNoneLeft(t)
}

// ctx limits Open, no matter what the server does.
func TestOpenContextEnds(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	for _, scheme := range []string{"redis://", "redis-cluster://", "redis-replicated://"} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			conn, err := silent.Accept() // the client waits for the answer to its handshake
			if err == nil {
				defer conn.Close()
			}
			cancel()
		}()
		c, err := redispipe.Open(ctx, scheme+silent.Addr().String(), redispipe.Logger(nil),
			redispipe.Conn(func(o *redisconn.Opts) { o.IOTimeout = time.Hour }))
		require.Nil(t, c)
		require.ErrorIs(t, err, context.Canceled)
		_, err = redispipe.Open(ctx, scheme+silent.Addr().String())
		require.ErrorIs(t, err, context.Canceled)
	}
	requireNoneLeft(t)
}
