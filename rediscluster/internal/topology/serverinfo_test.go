package topology

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

func TestServerInfoAfterAnother(t *testing.T) {
	at := func(role string, id string) ServerInfo { return ServerInfo{role: role, id: id} }
	restarted := at(roleMaster, "2")
	restarted.restarted = true
	for name, tt := range map[string]struct {
		was, is ServerInfo
		want    bool
	}{
		"first seen":            {ServerInfo{}, at(roleMaster, "1"), false},
		"the same":              {at(roleMaster, "1"), at(roleMaster, "1"), false},
		"promoted":              {at(roleReplica, "1"), at(roleMaster, "1"), false},
		"a replica, restarted":  {at(roleReplica, "1"), at(roleMaster, "2"), true},
		"some time later":       {restarted, at(roleMaster, "2"), true},
		"restarted again":       {restarted, at(roleMaster, "3"), true},
		"a replica again":       {restarted, at(roleReplica, "2"), false},
		"a master, restarted":   {at(roleMaster, "1"), at(roleMaster, "2"), false},
		"unknown before":        {at(roleReplica, ""), at(roleMaster, "2"), false},
		"unknown now":           {at(roleReplica, "1"), at(roleMaster, ""), false},
		"a replica in two runs": {at(roleReplica, "1"), at(roleReplica, "2"), false},
	} {
		assert.Equal(t, tt.want, tt.is.After(tt.was).restarted, name)
	}
}

func TestServerInfoAfterAFailure(t *testing.T) {
	was := ServerInfo{role: roleReplica, id: "1", Err: redis.ErrIO.New("then")}
	failed := ServerInfo{Err: redis.ErrIO.New("now")}
	want := was
	want.Err = failed.Err
	assert.Equal(t, want, failed.After(was))
	assert.Equal(t, failed, failed.After(ServerInfo{}))
	assert.Nil(t, ServerInfo{role: roleReplica, id: "1"}.After(was).Err)
}

// parseServerInfo parses the answers to ROLE, INFO replication and INFO server.
func parseServerInfo(answers ...any) ServerInfo {
	role, refusal := redisconn.ParseRole(answers[0])
	return ParseServerInfo(string(role), refusal, answers[1], answers[2])
}

func TestParseServerInfo(t *testing.T) {
	role := []any{[]byte("master"), int64(0), []any{}}
	replication := []byte("role:slave\r\nmaster_link_status:up\r\nmaster_replid:x\r\nmaster_replid2:y\r\nmaster_repl_offset:7\r\nsecond_repl_offset:5\r\n")
	server := []byte("run_id:1\r\n")
	refusal := redis.ErrResult.New("NOPERM no")
	want := ServerInfo{role: roleMaster, id: "1", replid: "x", end: 7, replid2: "y", fork: 5}
	assert.Equal(t, want, parseServerInfo(role, replication, server))
	want.role, want.follows = roleReplica, true
	assert.Equal(t, want, parseServerInfo(refusal, replication, server))
	assert.Equal(t, ServerInfo{role: roleMaster, end: math.MaxInt64}, parseServerInfo(role, refusal, refusal))
	assert.NotNil(t, parseServerInfo(refusal, refusal, refusal).Err)
	assert.NotNil(t, parseServerInfo(int64(1), refusal, server).Err)
}

func TestLayoutOfAList(t *testing.T) {
	// The history x ends at 100. A history "x at 50" continues x from 50 on.
	master := func(id, replid, continued string, fork int64) ServerInfo {
		return ServerInfo{role: roleMaster, id: id, replid: replid, end: 100, replid2: continued, fork: fork}
	}
	one := master("1", "x", "", 0)
	promoted, stray := master("2", "y", "x", 101), master("2", "y", "x", 50)
	replica := ServerInfo{role: roleReplica, id: "r"}
	follows := func(id, replid string) ServerInfo {
		return ServerInfo{role: roleReplica, id: id, replid: replid, follows: true}
	}
	waits := ServerInfo{role: roleReplica, id: "r", replid: "y"}
	restarted := promoted
	restarted.restarted = true
	lost := func(st ServerInfo) ServerInfo { st.Err = redisconn.ErrDial.New("gone"); return st }
	type list = ServerInfos
	for name, tt := range map[string]struct {
		said     list
		present  string
		stop     bool
		master   string // "" means none
		replicas []string
		many     bool
	}{
		"nobody":        {list{}, "", false, "", nil, false},
		"one":           {list{"a": one, "b": replica}, "", false, "a", addrs("b"), false},
		"replicas only": {list{"b": replica, "c": replica}, "a", false, "", addrs("b", "c"), false},

		"promoted, and the other has stopped":          {list{"a": one, "b": promoted}, "a", false, "b", nil, false},
		"promoted, with stop":                          {list{"a": one, "b": promoted}, "a", true, "b", nil, false},
		"promoted, at first":                           {list{"a": one, "b": promoted}, "", false, "b", nil, false},
		"promoted, and a replica follows":              {list{"a": one, "b": stray, "c": follows("3", "y")}, "a", false, "b", addrs("c"), false},
		"promoted, and the replicas do not follow yet": {list{"a": one, "b": promoted, "c": follows("3", "x")}, "a", false, "a", addrs("c"), false},
		"promoted, and half of the replicas follow":    {list{"a": one, "b": promoted, "c": follows("3", "x"), "d": follows("4", "y")}, "a", false, "b", addrs("c", "d"), false},
		"two promoted from one":                        {list{"a": one, "b": promoted, "c": master("3", "z", "x", 101)}, "a", true, "", nil, true},

		"stray, and a replica follows the other":  {list{"a": one, "b": stray, "c": follows("3", "x")}, "a", false, "a", addrs("c"), false},
		"stray, with stop":                        {list{"a": one, "b": stray, "c": follows("3", "x")}, "a", true, "a", addrs("c"), false},
		"stray, at first":                         {list{"b": one, "a": stray, "c": follows("3", "x")}, "", true, "b", addrs("c"), false},
		"stray, and the other has stopped":        {list{"a": one, "b": restarted}, "a", false, "a", nil, false},
		"stray, the other has stopped, and stop":  {list{"a": one, "b": restarted}, "a", true, "", nil, true},
		"stray, and nobody follows":               {list{"a": one, "b": stray}, "a", false, "a", nil, false},
		"stray, nobody follows, and stop":         {list{"a": one, "b": stray}, "a", true, "", nil, true},
		"stray, and nobody follows at first":      {list{"a": one, "b": stray}, "", false, "", nil, true},
		"stray, and as many follow":               {list{"a": one, "b": stray, "c": follows("3", "x"), "d": follows("4", "y")}, "a", false, "a", addrs("c", "d"), false},
		"stray, and a replica waits for it":       {list{"a": one, "b": stray, "c": waits}, "a", false, "a", addrs("c"), false},
		"stray, and a lost replica followed it":   {list{"a": one, "b": stray, "c": lost(follows("3", "y"))}, "a", false, "a", addrs("c"), false},
		"stray, and one replica by two addresses": {list{"a": one, "b": stray, "c": follows("3", "y"), "d": follows("3", "y"), "e": follows("4", "x")}, "a", true, "", addrs("c", "d", "e"), true},
		"stray, and more follow the other":        {list{"a": one, "b": stray, "c": follows("3", "x"), "d": follows("4", "y"), "e": follows("5", "x")}, "b", true, "a", addrs("c", "d", "e"), false},

		"two of their own":                 {list{"a": one, "b": master("2", "y", "", 0)}, "a", false, "a", nil, false},
		"two of their own, and stop":       {list{"a": one, "b": master("2", "y", "", 0)}, "a", true, "", nil, true},
		"two of their own at first":        {list{"a": one, "b": master("2", "y", "", 0)}, "", false, "", nil, true},
		"two, and a third was the master":  {list{"a": one, "b": master("2", "y", "", 0), "c": replica}, "c", false, "", addrs("c"), true},
		"promoted from a third":            {list{"a": one, "b": master("2", "y", "z", 101)}, "a", true, "", nil, true},
		"nothing is known of histories":    {list{"a": master("1", "", "", 0), "b": master("2", "", "", 0)}, "a", true, "", nil, true},
		"a follower of nobody knows what":  {list{"a": master("1", "", "", 0), "b": master("2", "y", "", 0), "c": follows("3", "")}, "a", true, "", addrs("c"), true},
		"the one that was, and three more": {list{"a": one, "b": stray, "c": master("3", "z", "", 0), "d": promoted}, "c", false, "c", nil, false},

		"two addresses of one":                    {list{"a": one, "b": one}, "b", false, "a", nil, false},
		"two addresses of one, and a replica":     {list{"a": one, "b": one, "c": replica}, "a", false, "a", addrs("c"), false},
		"two addresses of one, and another":       {list{"a": one, "b": one, "c": stray}, "b", false, "a", nil, false},
		"the present one is lost":                 {list{"a": lost(one), "b": replica}, "a", false, "a", addrs("b"), false},
		"lost, and not the present one":           {list{"a": lost(one), "b": replica}, "", false, "", addrs("b"), false},
		"another takes over from a lost one":      {list{"a": lost(one), "b": promoted}, "a", false, "b", nil, false},
		"a replica is lost":                       {list{"a": one, "b": lost(replica)}, "a", false, "a", addrs("b"), false},
		"the present one is lost, and two others": {list{"a": lost(one), "b": stray, "c": master("3", "z", "", 0)}, "a", false, "", nil, true},
	} {
		l := tt.said.Layout(tt.present, tt.stop)
		assert.Equal(t, tt.master, l.Shards[0].Master, name)
		if st := tt.said[tt.master]; st.Err == nil {
			assert.Equal(t, st.id, l.Server, name)
		} else {
			assert.Empty(t, l.Server, "it may be another run by now: %s", name)
		}
		assert.Equal(t, tt.replicas, l.Shards[0].Replicas, name)
		assert.Equal(t, tt.master == "", l.Reason != nil, name)
		if l.Reason != nil {
			assert.Equal(t, tt.many, l.Reason.IsOfType(ErrManyMasters), "%s: %v", name, l.Reason)
		}
	}
}
