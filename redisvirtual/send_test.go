package redisvirtual

import (
	"context"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/redisvirtual/internal/replies"
	"github.com/joomcode/redispipe/redisvirtual/internal/upstream"
)

// A server that has paused its clients may answer a blocking command with UNBLOCKED, run it later, and answer
// again. The later answer is the reply.
func TestReplyBehindUnblocked(t *testing.T) {
	const unblocked = "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"
	for _, reply := range []string{"*2\r\n$1\r\nk\r\n$1\r\nx\r\n", "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"} {
		paused := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
			if r.Cmd != "BLPOP" {
				_, err := io.WriteString(c, "+OK\r\n")
				return err
			}
			_, err := io.WriteString(c, unblocked+reply)
			return err
		}})
		v := over(t, connect(t, paused.Addr(), redisconn.Opts{}))
		v.say(words("BLPOP", "k", "0"))
		v.hear(reply)
	}
}

// A script can return an error that looks like a redirect but is malformed. It is an ordinary reply.
func TestMalformedRedirect(t *testing.T) {
	v := virtual(t)
	v.say(words("EVAL", "return redis.error_reply('MOVED nowhere')", "0") + words("ECHO", "next"))
	v.hear("-MOVED nowhere\r\n$4\r\nnext\r\n")
}

// room is a send.CapacityWaiter for a queue that has room again.
type room struct{}

func (room) AwaitCapacity(context.Context) error { return nil }

// noRoom is a send.CapacityWaiter for a queue that stays full.
type noRoom struct{}

func (noRoom) AwaitCapacity(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// halfFull is a cluster in which one node accepts requests, and the queue of another one is full.
type halfFull struct{ send.Backend[redis.Future] }

func (halfFull) WantsSlot() bool { return true }

func (halfFull) SendEncoded(_ *send.Request, cb redis.Future, n uint64) {
	if n > 0 {
		cb.Resolve(redis.ErrQueueFull.New("full").WithProperty(errs.EKCapacity, noRoom{}), n)
	}
}

// If there is no room in time for all requests of a Write, and the first one was sent, the outcome of the
// error is not "not sent".
func TestQueueFullBehindSent(t *testing.T) {
	c := newConn(&upstream.Servers{Terms: replies.Terms{Protocol: 2, Several: true}, Sender: halfFull{}})
	require.NoError(t, c.SetWriteDeadline(time.Now().Add(time.Millisecond)))
	_, err := c.Write([]byte(words("INCR", "a") + words("INCR", "b")))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.False(t, retried(err), "the first may have run")
}

// filling is a cluster whose queue is full after a first request and a blocking one.
type filling struct {
	send.Backend[redis.Future]
	sent int
}

func (*filling) WantsSlot() bool { return true }

func (s *filling) SendEncoded(_ *send.Request, cb redis.Future, n uint64) {
	if s.sent++; s.sent > 2 {
		cb.Resolve(redis.ErrQueueFull.New("full").WithProperty(errs.EKCapacity, noRoom{}), n)
		return
	}
	cb.Resolve(int64(1), n)
	synctest.Wait() // until the client has read the reply
}

// If there is no room in time for requests behind a blocking one, their Write has already returned without an
// error. Read and the next Write return the error. If a request has run, the error does not say "not sent".
func TestQueueFullBehindBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConn(&upstream.Servers{Terms: replies.Terms{Protocol: 2, Several: true}, Sender: &filling{}})
		require.NoError(t, c.SetWriteDeadline(time.Now().Add(time.Second)))
		_, err := c.Write([]byte(words("INCR", "a") + words("BLPOP", "none", "1") + words("INCR", "b")))
		require.NoError(t, err)
		_, err = io.ReadAll(c)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.False(t, retried(err), "the first has run")
		_, err = c.Write([]byte(words("PING")))
		require.False(t, retried(err), "%v", err)
	})
}

// redirecting is a cluster whose first request is redirected to a node with a full queue, while the
// second one is sent.
type redirecting struct {
	send.Backend[redis.Future]
	sent map[uint64]int
}

func (*redirecting) WantsSlot() bool { return true }

func (s *redirecting) SendEncoded(_ *send.Request, cb redis.Future, n uint64) {
	if s.sent[n]++; n == 1 && s.sent[n] == 1 {
		cb.Resolve(redis.ErrQueueFull.New("full").WithProperty(errs.EKCapacity, room{}), 0)
	}
}

// When there is room in a queue again, only the request that is being sent is sent again.
func TestQueueFullElsewhere(t *testing.T) {
	s := &redirecting{sent: map[uint64]int{}}
	c := newConn(&upstream.Servers{Terms: replies.Terms{Protocol: 2, Several: true}, Sender: s})
	_, err := c.Write([]byte(words("INCR", "a") + words("INCR", "b")))
	require.NoError(t, err)
	require.Equal(t, map[uint64]int{0: 1, 1: 1}, s.sent)
}
