package redispubsub_test

import (
	"encoding/json"
	"expvar"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

func TestStats(t *testing.T) {
	server := testbed.NewServer(t)
	conn := connect(t, server.Addr(), redisconn.Opts{})
	s := newSubscriber(t, conn)
	quick := s.NewSubscription(redispubsub.SubscriptionOpts{})
	slow := s.NewSubscription(redispubsub.SubscriptionOpts{MaxMessages: 1})
	a, b := redispubsub.Channel("a"), redispubsub.Pattern("b*")
	require.NoError(t, quick.Subscribe(withPatience(t), a, b))
	require.NoError(t, slow.Subscribe(withPatience(t), a))
	for range 3 {
		publish(t, conn, "PUBLISH", "a", "x")
	}
	take(t, quick, 3)
	stats := s.Stats()
	require.Len(t, stats.Sockets, 1)
	socket := stats.Sockets[0]
	assert.Equal(t, redispubsub.SocketConnected, socket.State)
	assert.Equal(t, []int{2, 2}, []int{socket.Topics, socket.Live})
	assert.EqualValues(t, 3, socket.Messages)
	assert.Equal(t, 2, stats.Subscriptions)
	assert.EqualValues(t, 3, stats.Messages)

	server.Do("CLIENT KILL", "TYPE", "pubsub")
	require.Eventually(t, func() bool {
		stats := s.Stats()
		return stats.ConnectionLost == 3 && stats.OpenGaps == 0
	}, patience, time.Millisecond)
	require.NoError(t, server.Kill())
	require.Eventually(t, func() bool { return s.Stats().OpenGaps == 3 }, patience, time.Millisecond)
	stats = s.Stats()
	assert.EqualValues(t, 6, stats.ConnectionLost, "of three topics of subscriptions, twice")
	assert.Equal(t, 3, stats.OpenGaps)
	assert.EqualValues(t, 2, stats.Dropped)
	assert.EqualValues(t, 3, stats.Messages, "by a socket that has ended")
	assert.Positive(t, stats.Bytes)
	slow.Close()
	assert.Equal(t, 2, s.Stats().OpenGaps)

	require.Eventually(t, func() bool { return s.Stats().Sockets[0].Err != nil }, patience, 1)
	var read struct {
		OpenGaps int
		Sockets  []struct{ Addr, State, Err string }
	}
	text := expvar.Func(func() any { return s.Stats() }).String()
	require.NoError(t, json.Unmarshal([]byte(text), &read), text)
	assert.Equal(t, 2, read.OpenGaps)
	assert.Equal(t, server.Addr(), read.Sockets[0].Addr)
	assert.NotEmpty(t, read.Sockets[0].Err)
	assert.Contains(t, []string{"connecting", "down"}, read.Sockets[0].State)
	quick.Close()
	assert.Zero(t, s.Stats().OpenGaps)
	assert.Empty(t, s.Stats().Sockets)
	assert.EqualValues(t, 3, s.Stats().Messages)
}
