package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/redisconn"
)

// A server belongs to the lineage of a master if it was that master, has followed it, or continues
// its history.
func TestLineage(t *testing.T) {
	master := ServerInfo{role: roleMaster, id: "run m", replid: "h", replid2: noHistory}
	replica := ServerInfo{role: roleReplica, id: "run r", replid: "h", follows: true}
	servers := ServerInfos{"m": master, "r": replica, "s": {role: roleReplica, id: "run s", replid: "of another"}}
	var g Lineage
	has := func(st ServerInfo) bool { return g.Has(ServerInfos{"n": st}, "n") }
	assert.True(t, has(ServerInfo{id: "x", replid: "x"}), "nothing is known yet")
	g.Learn(servers, servers.Layout("", false))
	for name, tt := range map[string]struct {
		st   ServerInfo
		want bool
	}{
		"the master":                               {master, true},
		"promoted":                                 {ServerInfo{id: "run r", replid: "new", replid2: "h"}, true},
		"promoted, and restarted without data":     {ServerInfo{id: "new", replid: "new", replid2: noHistory}, false},
		"promoted, with a history of its own":      {ServerInfo{id: "run r", replid: "new", replid2: noHistory}, true},
		"restarted from its dump":                  {ServerInfo{id: "new", replid: "new", replid2: "h"}, true},
		"another":                                  {ServerInfo{id: "run x", replid: "x", replid2: noHistory}, false},
		"a replica that has followed another":      {ServerInfo{id: "run s", replid: "of another"}, false},
		"one that does not tell its history":       {ServerInfo{}, true},
		"one that has no history that goes before": {ServerInfo{id: "run y", replid: "y"}, false},
	} {
		assert.Equal(t, tt.want, has(tt.st), name)
	}
	gone := master
	gone.Err = redisconn.ErrDial.New("down")
	servers = ServerInfos{"m": gone, "x": {role: roleMaster, id: "run x", replid: "x"}}
	assert.Equal(t, addrs("x"), g.Strangers(servers, "m"))
	assert.Empty(t, g.Strangers(servers, "not listed"))
	g.Learn(servers, servers.Without(g.Strangers(servers, "m")).Layout("m", false))
	assert.True(t, has(master), "it is not forgotten while it is down")
	assert.Equal(t, "m", servers.Without(g.Strangers(servers, "m")).Layout("m", false).Shards[0].Master)

	// A known replica leads to the master that it follows now.
	led := ServerInfos{"x": servers["x"], "r": {role: roleReplica, id: "run r", replid: "x", follows: true}}
	assert.True(t, g.Has(led, "x"))
}
