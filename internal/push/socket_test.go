package push

import (
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/faulty"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

func sockets(t *testing.T, addr string, timeout time.Duration) *Sockets {
	t.Helper()
	parsed, err := dial.ParseAddress(addr)
	require.NoError(t, err)
	dialer := dial.New(t.Context(), dial.Config{Address: parsed, Timeout: timeout})
	return New(t.Context(), dialer, Config{
		Timeout: timeout, TimesOut: true,
		WithConn: func(err *errorx.Error) *errorx.Error { return err },
	})
}

// A socket that nobody reads on purpose does not make the server look silent.
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

// Sockets are known from their handshake to their end.
func TestSockets(t *testing.T) {
	s := sockets(t, faulty.NewScripted(t, faulty.ScriptedOpts{}).Addr(), time.Minute)
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
