package redisvirtual

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
)

// retried reports whether go-redis repeats a request that ended with err. It checks the same conditions as
// go-redis.
func retried(err error) bool {
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(err, context.DeadlineExceeded) && errors.As(err, &network)
}

func proxied(t *testing.T) *chaos.Proxy {
	proxy, err := chaos.ListenProxy(server.Addr(), chaos.ProxyOpts{Seed: 1})
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	return proxy
}

// A request whose reply was lost may have run, so go-redis must not repeat it. Nor must it repeat the other
// requests of the same pipeline, whether they were answered or not sent.
func TestUnknown(t *testing.T) {
	for _, say := range []string{words("INCR", "visits"), words("PING") + words("INCR", "visits") + words("PING")} {
		proxy := proxied(t)
		v := over(t, connect(t, proxy.Addr(), redisconn.Opts{}))
		proxy.Arm(chaos.Fault{Do: chaos.Reset, On: chaos.Replies, At: chaos.AtRequestID("visits")})
		v.say(say)
		_, err := io.ReadAll(v)
		require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(err), "%v", err)
		require.False(t, retried(err), "%v", err)
		require.False(t, redis.SafeToRetry(err))
		_, err = v.Write([]byte(words("PING")))
		require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(err), "the connection has ended")
	}
}

// A request that was not sent may be sent again.
func TestNotSent(t *testing.T) {
	proxy := proxied(t)
	conn := connect(t, proxy.Addr(), redisconn.Opts{ReconnectPause: time.Hour})
	v := over(t, conn)
	v.say(words("PING"))
	v.hear("+PONG\r\n")
	proxy.Close()
	require.Eventually(t, func() bool { return !conn.MayBeConnected() }, 20*time.Second, time.Millisecond)
	v.say(words("PING") + words("PING"))
	_, err := io.ReadAll(v)
	require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(err), "%v", err)
	require.True(t, retried(err), "%v", err)
	require.True(t, redis.SafeToRetry(err))
}

// Deadlines work like those of a socket: after one has passed, the connection still works.
func TestDeadline(t *testing.T) {
	v := virtual(t)
	require.NoError(t, v.SetReadDeadline(time.Unix(1, 0)))
	_, err := v.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.True(t, retried(err), "nothing was sent")
	v.say(words("BLPOP", "deadline", "0"))
	require.NoError(t, v.SetReadDeadline(time.Now().Add(time.Millisecond)))
	_, err = v.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.False(t, retried(err), "it may have run")
	require.NoError(t, v.SetDeadline(time.Time{}))
	other := virtual(t)
	other.say(words("RPUSH", "deadline", "x"))
	other.hear(":1\r\n")
	v.hear("*2\r\n$8\r\ndeadline\r\n$1\r\nx\r\n")
	require.NoError(t, v.SetWriteDeadline(time.Unix(1, 0)))
	_, err = v.Write([]byte(words("PING")))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// Close ends Reads and blocking commands, so that the server does not pop an element for a client that has
// left.
func TestClose(t *testing.T) {
	conn := connect(t, server.Addr(), defaults)
	v := over(t, conn)
	v.say(words("BLPOP", "close", "0"))
	require.Eventually(t, func() bool { return used(conn) == 1 }, 20*time.Second, time.Millisecond)
	read := make(chan error)
	go func() {
		_, err := v.Conn.Read(make([]byte, 1))
		read <- err
	}()
	require.NoError(t, v.Close())
	require.ErrorIs(t, <-read, net.ErrClosed)
	require.Eventually(t, func() bool { return used(conn) == 0 }, 20*time.Second, time.Millisecond)
	other := over(t, conn)
	other.say(words("RPUSH", "close", "x") + words("LLEN", "close"))
	other.hear(":1\r\n:1\r\n")
	_, err := v.Write([]byte(words("PING")))
	require.ErrorIs(t, err, net.ErrClosed)
	require.ErrorIs(t, v.Close(), net.ErrClosed)
}

// Requests that are not written when a virtual connection is closed are never written.
func TestCloseWithdraws(t *testing.T) {
	dial := make(chan struct{})
	conn := connect(t, server.Addr(), redisconn.Opts{AsyncDial: true, Logger: redisconn.NoopLogger{}, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		<-dial
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	gone, stays := over(t, conn), over(t, conn)
	gone.say(words("SET", "withdrawn", "1"))
	stays.say(words("SET", "stays", "1"))
	require.NoError(t, gone.Close())
	close(dial)
	stays.hear(proto.OK)
	stays.say(words("EXISTS", "withdrawn", "stays"))
	stays.hear(":1\r\n")
}

// A Write waits while the queue is full, until its deadline.
func TestQueueFull(t *testing.T) {
	dial := make(chan struct{})
	conn := connect(t, server.Addr(), redisconn.Opts{AsyncDial: true, MaxRequests: 2, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		<-dial
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	first, second, third := over(t, conn), over(t, conn), over(t, conn)
	first.say(words("PING") + words("PING"))
	require.NoError(t, third.SetWriteDeadline(time.Now().Add(time.Millisecond)))
	_, err := third.Write([]byte(words("PING")))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.True(t, retried(err))
	written := make(chan error)
	go func() {
		_, err := second.Write([]byte(words("ECHO", "2")))
		written <- err
	}()
	close(dial)
	first.hear("+PONG\r\n+PONG\r\n")
	require.NoError(t, <-written)
	second.hear("$1\r\n2\r\n")
}

// Requests that have waited for room are sent once.
func TestQueueFullOnce(t *testing.T) {
	dial := make(chan struct{})
	conn := connect(t, server.Addr(), redisconn.Opts{AsyncDial: true, MaxRequests: 2, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		<-dial
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	first, second := over(t, conn), over(t, conn)
	first.say(words("DEL", "once"))
	written := make(chan error)
	go func() {
		_, err := second.Write([]byte(words("INCR", "once") + words("INCR", "once")))
		written <- err
	}()
	require.Eventually(t, func() bool { return conn.Stats().WaitingForRoom == 1 }, 20*time.Second, time.Millisecond)
	close(dial)
	first.frame()
	require.NoError(t, <-written)
	second.hear(":1\r\n:2\r\n")
	second.say(words("GET", "once"))
	second.hear("$1\r\n2\r\n")
}

// A sender that is closed ends its virtual connections.
func TestSenderClosed(t *testing.T) {
	conn := connect(t, server.Addr(), defaults)
	v := over(t, conn)
	v.say(words("SUBSCRIBE", "closed"))
	v.frame()
	w := over(t, conn)
	conn.Close()
	_, err := v.r.ReadByte()
	require.Error(t, err)
	w.say(words("PING"))
	_, err = w.r.ReadByte()
	require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(err))
}

// used returns how many dedicated connections are in use.
func used(conn *redisconn.Connection) int {
	stats := conn.Stats().Dedicated
	return stats.Open - stats.Idle
}
