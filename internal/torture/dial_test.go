package torture

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// T19: two hundred clients whose server goes down and comes back do not dial it
// all at once. The one dial that each makes at the moment of the loss is not
// counted: it is what brings a client back from a loss that was its own.
func TestT19DialsAreSpread(t *testing.T) {
	const clients, atOnce = 200, 250 * time.Millisecond
	server := testbed.NewServer(t)
	proxy := testbed.NewProxy(t, server.Addr(), testbed.ProxyOpts{Seed: seed})
	opts := redisconn.Opts{Logger: redisconn.NoopLogger{}}
	conns := make([]*redisconn.Connection, clients)
	for i := range conns {
		var err error
		conns[i], err = redisconn.Connect(context.Background(), proxy.Addr(), opts)
		require.NoError(t, err)
		defer conns[i].Close()
	}
	before := len(proxy.Dials())
	down := time.Now()
	proxy.Refuse(true)
	proxy.Arm(testbed.ProxyFault{Do: testbed.ProxyReset, At: testbed.ProxyNow()})
	time.Sleep(3 * time.Second) // how long the server is down
	proxy.Refuse(false)
	require.Eventually(t, func() bool {
		for _, conn := range conns {
			if !conn.ConnectedNow() {
				return false
			}
		}
		return true
	}, patience, 5*time.Millisecond)

	dials := proxy.Dials()[before:]
	for len(dials) > 0 && dials[0].Sub(down) < atOnce {
		dials = dials[1:]
	}
	most, at := 0, time.Duration(0)
	for i := range dials {
		n := 0
		for _, other := range dials[i:] {
			if other.Sub(dials[i]) < 100*time.Millisecond {
				n++
			}
		}
		if n > most {
			most, at = n, dials[i].Sub(down)
		}
	}
	t.Logf("%d dials, at most %d within 100 ms, at %v", len(dials), most, at)
	require.GreaterOrEqual(t, len(dials), clients)
	require.LessOrEqual(t, most, len(dials)/10+len(dials)/50) // and a little for chance
}

// T19: a server that hangs up right after the handshake is not dialed in a spin.
func TestT19HangUpAfterHandshake(t *testing.T) {
	s := testbed.NewScripted(t, testbed.ScriptedOpts{Raw: true, Handler: testbed.ScriptedThenClose("+PONG\r\n")})
	opts := fast()
	opts.AsyncDial, opts.Logger, opts.NoClientInfo = true, redisconn.NoopLogger{}, true
	opts.ReconnectPause, opts.ReconnectPauseMax = 100*time.Millisecond, 200*time.Millisecond
	conn, err := redisconn.Connect(context.Background(), s.Addr(), opts)
	require.NoError(t, err)
	defer conn.Close()
	time.Sleep(time.Second)
	require.Positive(t, s.Accepted())
	require.Less(t, s.Accepted(), 100)
}
