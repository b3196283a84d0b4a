package rediscluster

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// newScriptedMaster starts a server that plays a master without a cluster. It waits for pause before it
// answers ROLE.
func newScriptedMaster(t *testing.T, pause *atomic.Int64) *chaos.ScriptedServer {
	t.Helper()
	return chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := chaos.ScriptedBulk("")
		if r.Cmd == "ROLE" {
			if err := c.Sleep(time.Duration(pause.Load())); err != nil {
				return err
			}
			reply = "*3\r\n" + chaos.ScriptedBulk("master") + ":0\r\n*0\r\n"
		}
		_, err := c.Write([]byte(reply))
		return err
	}})
}

// At first the client waits for all servers. Later, a server that is late keeps its role, so that
// another master does not win just because it answered sooner.
func TestLateServerStaysWhatItWas(t *testing.T) {
	var none, pause atomic.Int64
	soon, late := newScriptedMaster(t, &none), newScriptedMaster(t, &pause)
	c := &Cluster{ctx: t.Context(), opts: Opts{Logger: NoopLogger{}, StopOnManyMasters: true, HostOpts: redisconn.Opts{IOTimeout: time.Minute}}}
	c.topology.Store(route.New(&topology.Layout{Shards: []topology.Shard{{Master: soon.Addr()}}}, func(at topology.Node) *route.Node { return &route.Node{Addr: at.Addr} }))
	s := newServerList(c, []string{soon.Addr(), late.Addr()})
	for _, patience := range []time.Duration{2 * askGrace, time.Hour} {
		pause.Store(int64(patience))
		l := s.read(c.ctx, true)
		require.NotNil(t, l.Reason)
		require.True(t, l.Reason.IsOfType(ErrManyMasters), "%v", l.Reason)
	}
}
