package rediscluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

func TestKeylessIsRefused(t *testing.T) {
	for _, req := range []redis.Request{
		redis.Req("flushall"), redis.Req("SCRIPT LOAD", "return 1"), redis.Req("SCRIPT", "load", "return 1"),
		redis.Req("FUNCTION", []byte("LOAD"), "x"), redis.Req("KEYS", "*"), redis.Req("DBSIZE"),
		redis.Req("SCAN", 0), redis.Req("CLUSTER", "FAILOVER"), redis.Req("SHUTDOWN"), redis.Req("MGET", "a", "b"),
		redis.Req("HOTKEYS", "GET"), redis.Req("CLUSTER MIGRATION", "STATUS"),
		redis.Req("KEYS *"), redis.Req("flushall async"), redis.Req("SHUTDOWN NOSAVE"), redis.Req("SCAN 0"),
	} {
		r, _, failed := backend.Encode(nil, req, true)
		require.NoError(t, failed)
		err := (&routed{&Cluster{rules: route.Rules{Sharded: true}}, MasterOnly.spec(nil)}).specOf(&r, new(routeSpec))
		require.NotNil(t, err, req.Cmd)
		assert.True(t, err.IsOfType(redis.ErrNoSlotKey))
		assert.True(t, err.HasTrait(redis.ErrTraitNotSent))
	}
	for _, req := range []redis.Request{
		redis.Req("PING"), redis.Req("time"), redis.Req("INFO"), redis.Req("ECHO", "x"), redis.Req("RANDOMKEY"),
		redis.Req("EVAL", "return 1", 0), redis.Req("CLUSTER", "NODES"), redis.Req("SCRIPT"), redis.Req("GET", "a"),
		redis.Req("PUBLISH", "channel", "x"), redis.Req("NO.SUCH"), redis.Req("NO SUCH"), redis.Req("CONFIG"),
	} {
		r, _, failed := backend.Encode(nil, req, true)
		require.NoError(t, failed)
		err := (&routed{&Cluster{rules: route.Rules{Sharded: true}}, MasterOnly.spec(nil)}).specOf(&r, new(routeSpec))
		assert.Nil(t, err, req.Cmd)
	}
}

// A message goes to the node of its channel, no matter how the command is written.
func TestPublishGoesByItsChannel(t *testing.T) {
	for _, req := range []redis.Request{
		redis.Req("PUBLISH", "channel", "x"), redis.Req("publish channel", "x"),
		redis.Req("SPUBLISH", "channel", "x"), redis.Req("spublish channel", "x"),
	} {
		r, _, failed := backend.Encode(nil, req, true)
		require.NoError(t, failed)
		var spec routeSpec
		require.Nil(t, (&routed{&Cluster{rules: route.Rules{Sharded: true}}, MasterOnly.spec(nil)}).specOf(&r, &spec))
		assert.True(t, spec.Publishes, req.Cmd)
		assert.EqualValues(t, redisclusterutil.Slot("channel"), spec.Slot, req.Cmd)
	}
}
