package topology

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

func TestStandingAfterAnother(t *testing.T) {
	at := func(role string, id string) Standing { return Standing{role: role, id: id} }
	restarted := at(roleMaster, "2")
	restarted.restarted = true
	for name, tt := range map[string]struct {
		was, is Standing
		want    bool
	}{
		"first seen":            {Standing{}, at(roleMaster, "1"), false},
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

func TestStandingAfterAFailure(t *testing.T) {
	was := Standing{role: roleReplica, id: "1", Err: redis.ErrIO.New("then")}
	failed := Standing{Err: redis.ErrIO.New("now")}
	want := was
	want.Err = failed.Err
	assert.Equal(t, want, failed.After(was))
	assert.Equal(t, failed, failed.After(Standing{}))
	assert.Nil(t, Standing{role: roleReplica, id: "1"}.After(was).Err)
}

// parseStanding parses the answers to ROLE, INFO replication and INFO server.
func parseStanding(answers ...any) Standing {
	role, refusal := redisconn.ParseRole(answers[0])
	return ParseStanding(string(role), refusal, answers[1], answers[2])
}

func TestParseStanding(t *testing.T) {
	role := []any{[]byte("master"), int64(0), []any{}}
	replication := []byte("role:slave\r\nmaster_link_status:up\r\nmaster_replid:x\r\nmaster_replid2:y\r\nmaster_repl_offset:7\r\nsecond_repl_offset:5\r\n")
	server := []byte("run_id:1\r\n")
	refusal := redis.ErrResult.New("NOPERM no")
	want := Standing{role: roleMaster, id: "1", replid: "x", end: 7, replid2: "y", fork: 5}
	assert.Equal(t, want, parseStanding(role, replication, server))
	want.role, want.follows = roleReplica, true
	assert.Equal(t, want, parseStanding(refusal, replication, server))
	assert.Equal(t, Standing{role: roleMaster, end: math.MaxInt64}, parseStanding(role, refusal, refusal))
	assert.NotNil(t, parseStanding(refusal, refusal, refusal).Err)
	assert.NotNil(t, parseStanding(int64(1), refusal, server).Err)
}
