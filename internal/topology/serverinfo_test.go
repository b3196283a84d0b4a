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
