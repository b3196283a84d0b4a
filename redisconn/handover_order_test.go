package redisconn

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/pubsub"
)

// What an earlier socket announces does not count once a later one has announced something. The same holds for the
// handshake of a socket, because its pushes may be heard after the first ones that follow.
func TestNewerAnnouncements(t *testing.T) {
	c := &Connection{dialer: dial.New(t.Context(), dial.Config{})}
	c.moves.newest, c.moves.cancel = &move{}, func() {} // the goroutine that acts on announcements runs
	to := func(socket uint64, handshake bool, endpoint string) string {
		at := orderOf(&dial.Socket{Number: socket}, handshake)
		c.hearMove(at, pubsub.Work{Kind: "MOVING", In: time.Minute, Endpoint: endpoint})
		return c.moves.newest.endpoint
	}
	require.Equal(t, "127.0.0.1:1", to(1, true, "127.0.0.1:1"))
	require.Equal(t, "127.0.0.1:2", to(1, true, "127.0.0.1:2"))
	require.Equal(t, "127.0.0.1:3", to(1, false, "127.0.0.1:3"))
	require.Equal(t, "127.0.0.1:3", to(1, true, "127.0.0.1:4"))
	require.Equal(t, "127.0.0.1:5", to(1, false, "127.0.0.1:5"))
	require.Equal(t, "127.0.0.1:6", to(2, true, "127.0.0.1:6"))
	require.Equal(t, "127.0.0.1:6", to(1, false, "127.0.0.1:7"))
	require.Equal(t, "127.0.0.1:8", to(3, false, "127.0.0.1:8"))
}
