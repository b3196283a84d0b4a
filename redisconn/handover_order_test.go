package redisconn

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/pubsub"
)

// What an earlier socket announces does not count once a later one has announced something.
func TestLaterSocketsAnnounce(t *testing.T) {
	c := &Connection{dialer: dial.New(t.Context(), dial.Config{})}
	c.moves.newest, c.moves.cancel = &move{}, func() {} // the goroutine that acts on announcements runs
	to := func(socket uint64, endpoint string) string {
		c.hearMove(&dial.Socket{Number: socket}, pubsub.Work{Kind: "MOVING", In: time.Minute, Endpoint: endpoint})
		return c.moves.newest.endpoint
	}
	require.Equal(t, "127.0.0.1:1", to(1, "127.0.0.1:1"))
	require.Equal(t, "127.0.0.1:2", to(1, "127.0.0.1:2"))
	require.Equal(t, "127.0.0.1:3", to(2, "127.0.0.1:3"))
	require.Equal(t, "127.0.0.1:3", to(1, "127.0.0.1:4"))
	require.Equal(t, "127.0.0.1:5", to(3, "127.0.0.1:5"))
}
