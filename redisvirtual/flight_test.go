package redisvirtual

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// room is in a queue that is full no more.
type room struct{}

func (room) AwaitCapacity(context.Context) error { return nil }

// redirecting is a cluster whose first request goes on to a node whose queue is full, while the
// second one is sent.
type redirecting struct {
	wire.Inner[redis.Future]
	sent map[uint64]int
}

func (*redirecting) WantsSlot() bool { return true }

func (s *redirecting) SendEncoded(_ *wire.Request, cb redis.Future, n uint64) {
	if s.sent[n]++; n == 1 && s.sent[n] == 1 {
		cb.Resolve(redis.ErrQueueFull.New("full").WithProperty(errs.EKCapacity, room{}), 0)
	}
}

// Only the request that is being sent is sent again when there is room in a queue.
func TestQueueFullElsewhere(t *testing.T) {
	s := &redirecting{sent: map[uint64]int{}}
	c := newConn(&servers{sender: s, protocol: 2})
	_, err := c.Write([]byte(words("INCR", "a") + words("INCR", "b")))
	require.NoError(t, err)
	require.Equal(t, map[uint64]int{0: 1, 1: 1}, s.sent)
}
