package redisconn

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// The lifecycle goes on, and may make the next session, as soon as it sees that
// this one has failed: by then the connection must be told. Holding the queue's
// lock makes visible what comes first.
func TestSessionTellsBeforeItHasFailed(t *testing.T) {
	c := testConnection()
	client, server := net.Pipe()
	defer server.Close()
	s := newSession(c, &socket{Socket: sock.New(client, redis.Limits{})})
	c.connected(s)
	c.queue.mu.Lock()
	done := make(chan struct{})
	go func() {
		s.fail(redis.ErrIO.New("on purpose"))
		close(done)
	}()
	select {
	case <-s.failed:
		c.queue.mu.Unlock()
		t.Fatal("it has failed, and the connection does not know yet")
	case <-time.After(20 * time.Millisecond):
	}
	c.queue.mu.Unlock()
	<-done
	require.True(t, s.hasFailed())
	require.Equal(t, stateDisconnected, c.currentState())

	next := newSession(c, &socket{Socket: sock.New(client, redis.Limits{})})
	c.connected(next)
	s.fail(redis.ErrIO.New("again"))
	require.Equal(t, stateConnected, c.currentState(), "only once")
	require.ErrorContains(t, s.err, "on purpose")
}
