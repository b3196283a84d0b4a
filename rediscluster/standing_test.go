package rediscluster

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestLayoutOfAList(t *testing.T) {
	master := func(id, replid, replid2 string) standing {
		return standing{role: redisconn.RoleMaster, id: id, replid: replid, replid2: replid2}
	}
	replica := standing{role: redisconn.RoleReplica, id: "r"}
	lost := func(st standing) standing { st.err = redisconn.ErrDial.New("gone"); return st }
	type list = standings
	for name, tt := range map[string]struct {
		said     list
		present  string
		master   string // "" is none
		replicas []string
		many     bool
	}{
		"nobody":                              {list{}, "", "", nil, false},
		"one":                                 {list{"a": master("1", "x", ""), "b": replica}, "", "a", addrs("b"), false},
		"replicas only":                       {list{"b": replica, "c": replica}, "a", "", addrs("b", "c"), false},
		"promoted from the other":             {list{"a": master("1", "x", ""), "b": master("2", "y", "x")}, "a", "b", nil, false},
		"two of their own":                    {list{"a": master("1", "x", ""), "b": master("2", "y", "")}, "a", "", nil, true},
		"promoted from a third":               {list{"a": master("1", "x", ""), "b": master("2", "y", "z")}, "a", "", nil, true},
		"one newest of three":                 {list{"a": master("1", "x", ""), "b": master("2", "y", "x"), "c": master("3", "z", "x")}, "a", "", nil, true},
		"nothing is known of histories":       {list{"a": master("1", "", ""), "b": master("2", "", "")}, "a", "", nil, true},
		"two addresses of one":                {list{"a": master("1", "x", ""), "b": master("1", "x", "")}, "b", "a", nil, false},
		"two addresses of one, and a replica": {list{"a": master("1", "x", ""), "b": master("1", "x", ""), "c": replica}, "a", "a", addrs("c"), false},
		"the present one is lost":             {list{"a": lost(master("1", "x", "")), "b": replica}, "a", "a", addrs("b"), false},
		"lost, and not the present one":       {list{"a": lost(master("1", "x", "")), "b": replica}, "", "", addrs("b"), false},
		"another takes over from a lost one":  {list{"a": lost(master("1", "x", "")), "b": master("2", "y", "x")}, "a", "b", nil, false},
		"a replica is lost":                   {list{"a": master("1", "x", ""), "b": lost(replica)}, "a", "a", addrs("b"), false},
	} {
		l := tt.said.layout(tt.present)
		assert.Equal(t, tt.master, l.shards[0].master, name)
		assert.Equal(t, tt.replicas, l.shards[0].replicas, name)
		assert.Equal(t, tt.master == "", l.reason != nil, name)
		if l.reason != nil {
			assert.Equal(t, tt.many, l.reason.IsOfType(ErrManyMasters), "%s: %v", name, l.reason)
		}
	}
}

func TestParseStanding(t *testing.T) {
	role := []any{[]byte("master"), int64(0), []any{}}
	replication := []byte("role:slave\r\nmaster_replid:x\r\nmaster_replid2:y\r\n")
	server := []byte("run_id:1\r\n")
	refusal := redis.ErrResult.New("NOPERM no")
	assert.Equal(t, standing{role: redisconn.RoleMaster, id: "1", replid: "x", replid2: "y"}, parseStanding([]any{role, replication, server}))
	assert.Equal(t, standing{role: redisconn.RoleReplica, id: "1", replid: "x", replid2: "y"}, parseStanding([]any{refusal, replication, server}))
	assert.Equal(t, standing{role: redisconn.RoleMaster}, parseStanding([]any{role, refusal, refusal}))
	assert.NotNil(t, parseStanding([]any{refusal, refusal, refusal}).err)
	assert.NotNil(t, parseStanding([]any{int64(1), refusal, server}).err)
}

// newScriptedMaster plays a master without a cluster, which answers ROLE slowly.
func newScriptedMaster(t *testing.T, pause *atomic.Int64) *testbed.ScriptedServer {
	t.Helper()
	return testbed.NewScripted(t, testbed.ScriptedOpts{Handler: func(c *testbed.ScriptedConn, r testbed.ScriptedRequest) error {
		reply := testbed.ScriptedBulk("")
		if r.Cmd == "ROLE" {
			if err := c.Sleep(time.Duration(pause.Load())); err != nil {
				return err
			}
			reply = "*3\r\n" + testbed.ScriptedBulk("master") + ":0\r\n*0\r\n"
		}
		_, err := c.Write([]byte(reply))
		return err
	}})
}

// At first all servers are waited for. Later, one that is late stays what it was, so
// that of two masters the other does not win for having answered sooner.
func TestLateServerStaysWhatItWas(t *testing.T) {
	var none, pause atomic.Int64
	soon, late := newScriptedMaster(t, &none), newScriptedMaster(t, &pause)
	c := &Cluster{ctx: context.Background(), opts: Opts{Logger: NoopLogger{}, HostOpts: redisconn.Opts{IOTimeout: time.Minute}}}
	s := &serverList{c: c, addrs: []string{soon.Addr(), late.Addr()}}
	for _, patience := range []time.Duration{2 * askGrace, time.Hour} {
		pause.Store(int64(patience))
		s.ask(c.ctx)
		l := s.layout(soon.Addr())
		require.NotNil(t, l.reason)
		require.True(t, l.reason.IsOfType(ErrManyMasters), "%v", l.reason)
	}
}
