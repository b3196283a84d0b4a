package push

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

func sockets(t *testing.T, addr string, timeout time.Duration) *Sockets {
	t.Helper()
	parsed, err := dial.ParseAddress(addr)
	require.NoError(t, err)
	return dialed(t.Context(), dial.Config{Address: parsed, Timeout: timeout}, true)
}

func dialed(ctx context.Context, config dial.Config, timesOut bool) *Sockets {
	return New(ctx, dial.New(ctx, config), Config{
		Timeout: config.Timeout, TimesOut: timesOut,
		WithConn: func(err *errorx.Error) *errorx.Error { return err },
	})
}

// piped returns a Dialer of pipes. answer is called with each PING that arrives at the other end.
// Each pipe is wrapped by wrap.
func piped(answer func(server net.Conn, echo []byte), wrap func(net.Conn) net.Conn) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() { // ends with the pipe
			defer server.Close()
			dec := resp.NewDecoder(bufio.NewReader(server), resp.Limits{})
			for greeted := false; ; {
				req, err := dec.Decode()
				if err != nil {
					return
				}
				words := req.([]any)
				switch cmd := string(words[0].([]byte)); {
				case cmd == "SUBSCRIBE": // the PING that follows is answered
				case cmd != "PING":
					_, _ = io.WriteString(server, "+OK\r\n")
				case !greeted:
					greeted = true
					echo(server, words[1].([]byte))
				default:
					answer(server, words[1].([]byte))
				}
			}
		}()
		return wrap(client), nil
	}
}

func echo(server net.Conn, nonce []byte) {
	_, _ = fmt.Fprintf(server, "$%d\r\n%s\r\n", len(nonce), nonce)
}

// stuck is a connection. When the test wants it, it takes no more bytes, until it is closed.
type stuck struct {
	net.Conn
	full, waits, closed chan struct{} // full and closed are events: they are closed when they happen
	limited             atomic.Bool   // a write has had a time limit
}

func (s *stuck) Write(p []byte) (int, error) {
	select {
	case <-s.full:
		close(s.waits)
		<-s.closed
		return 0, net.ErrClosed
	default:
		return s.Conn.Write(p)
	}
}

func (s *stuck) Close() error {
	close(s.closed)
	return s.Conn.Close()
}

func (s *stuck) SetWriteDeadline(at time.Time) error {
	s.limited.Store(true)
	return s.Conn.SetWriteDeadline(at)
}

// Without a time-out, a server may take any time to read the requests. When the connection ends,
// the socket still ends.
func TestWriteWithoutTimeOut(t *testing.T) {
	s := &stuck{full: make(chan struct{}), waits: make(chan struct{}), closed: make(chan struct{})}
	wrap := func(conn net.Conn) net.Conn {
		s.Conn = conn
		return s
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, failure := dialed(ctx, dial.Config{Timeout: time.Minute, Dialer: piped(echo, wrap)}, false).Open(t.Context())
	require.Nil(t, failure)
	close(s.full)
	require.NoError(t, p.Send(redis.Req("PING", "x")))
	<-s.waits
	require.False(t, s.limited.Load())
	cancel()
	<-p.Done()
	require.ErrorContains(t, p.failure(), "closed")
}

// A socket ends only if a heartbeat is overdue at two checks. At the first one, the answer may have
// arrived while this process stood still.
func TestOverdueTwice(t *testing.T) {
	const timeout = 16 * time.Second
	for name, tt := range map[string]struct {
		after time.Duration // when the answer comes
		ends  bool
	}{
		"once": {timeout/patience + timeout/checks/2, false}, "twice": {timeout/patience + 3*timeout/checks/2, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				late := func(server net.Conn, nonce []byte) {
					time.Sleep(tt.after)
					echo(server, nonce)
				}
				wrap := func(conn net.Conn) net.Conn { return conn }
				p, failure := dialed(t.Context(), dial.Config{Timeout: timeout, Dialer: piped(late, wrap)}, true).Open(t.Context())
				require.Nil(t, failure)
				go func() { _, _, _ = p.Receive(new(redis.Push)) }() // ends with the socket
				time.Sleep(2 * timeout)
				select {
				case <-p.Done():
					require.True(t, tt.ends)
				default:
					require.False(t, tt.ends)
				}
				p.Close()
				time.Sleep(2 * timeout) // the server notices the end
			})
		})
	}
}

// If the owner does not receive on purpose, the server does not count as silent.
func TestHold(t *testing.T) {
	const timeout = time.Second
	p, failure := sockets(t, testbed.NewServer(t).Addr(), timeout).Open(t.Context())
	require.Nil(t, failure)
	defer p.Close()
	p.Hold(true)
	require.Eventually(t, func() bool { return !p.unanswered().IsZero() && time.Since(p.unanswered()) > timeout },
		10*time.Second, time.Millisecond)
	p.Hold(false)
	require.NoError(t, p.Send(redis.Req("PING", "x")))
	reply, _, err := p.Receive(new(redis.Push))
	require.NoError(t, err)
	assert.Equal(t, []byte("x"), reply)
}

// Sockets are registered from their handshake to their end.
func TestSockets(t *testing.T) {
	s := sockets(t, chaos.NewScripted(t, chaos.ScriptedOpts{}).Addr(), time.Minute)
	var open []*Socket
	for range 2 {
		p, err := s.Open(t.Context())
		require.Nil(t, err)
		open = append(open, p)
	}
	require.Len(t, s.open, 2)
	open[0].Close()
	open[0].Close()
	require.Len(t, s.open, 1)
	require.Contains(t, s.open, open[1])
	open[1].Close()
	require.Empty(t, s.open)
}
