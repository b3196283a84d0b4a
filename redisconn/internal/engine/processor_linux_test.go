package engine

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/timing"
)

func TestCedingLosesLittle(t *testing.T) {
	const (
		own     = 50 * time.Microsecond // the client's own work between two writes
		foreign = 3 * time.Millisecond
		span    = 10 * time.Second
	)
	c := &lostTime{}
	var now, lost time.Duration
	for now < span {
		now += own
		if c.may(now) {
			now += foreign
			lost += foreign
			c.account(now, foreign)
		}
	}
	require.Greater(t, lost, slowYieldCredit, "it never yields")
	require.Less(t, lost, span/slowYieldPrice+2*slowYieldCredit)
}

func TestCedingToTheServerIsFree(t *testing.T) {
	c := &lostTime{}
	for now := time.Duration(0); now < time.Second; now += slowYield {
		require.True(t, c.may(now))
		c.account(now, slowYield-1)
	}
	for range 3 { // the server itself sometimes takes longer
		c.account(time.Second, 3*time.Millisecond)
		require.True(t, c.may(time.Second))
	}
	c.account(time.Second, 3*time.Millisecond)
	require.False(t, c.may(time.Second))
	require.True(t, c.may(2*time.Second), "it never yields again")
}

// The time that one connection loses counts for all connections, so a cluster of many nodes loses
// no more than one connection.
func TestConnectionsLoseTogether(t *testing.T) {
	t.Cleanup(func() { lost.repaid.Store(0) })
	one, other := newProcessor(&net.TCPConn{}), newProcessor(&net.TCPConn{})
	now := timing.Clock()
	one.account(now, time.Hour)
	require.False(t, other.may(now))
}

// Only reads from a server on the same machine count, and only with one processor.
func TestParallelMatters(t *testing.T) {
	near, far := &processor{local: true}, &processor{}
	require.NotNil(t, newParallel(enoughMostOfOne, near))
	require.Nil(t, newParallel(enoughMostOfOne, far))
	require.Nil(t, newParallel(enoughMost, near))
}

func TestIsLocal(t *testing.T) {
	tcp := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 6379} }
	for _, c := range []struct {
		here, there net.Addr
		want        bool
	}{
		{tcp("127.0.0.1"), tcp("127.0.0.1"), true},
		{tcp("127.0.0.1"), tcp("127.0.0.2"), true},
		{tcp("::1"), tcp("::1"), true},
		{tcp("10.1.2.3"), tcp("10.1.2.3"), true},
		{tcp("10.1.2.3"), tcp("10.1.2.4"), false},
		{tcp("10.1.2.3"), tcp("192.0.2.1"), false},
		{&net.UnixAddr{}, &net.UnixAddr{Name: "/run/redis.sock"}, true},
		{nil, tcp("192.0.2.1"), false},
		{nil, nil, false},
	} {
		require.Equal(t, c.want, isLocal(c.here, c.there), "%v %v", c.here, c.there)
	}
}
