package redispubsub_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

// A subscription with a prefix gets the messages and keyspace notifications of senders with the same
// prefix, and of no others. Its events contain no prefix.
func TestPrefix(t *testing.T) {
	server := testbed.NewServer(t)
	conn, err := redisconn.Connect(t.Context(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer conn.Close()
	all, one := redis.Sync{S: conn}, redis.Sync{S: redis.WithPrefix(conn, "t*1:")} // the asterisk in the prefix must not act as a pattern
	require.NoError(t, redis.Err(all.Do("CONFIG", "SET", "notify-keyspace-events", "KEA")))
	subscriber := newHookedSubscriber(t, conn)
	sub := subscriber.NewSubscription(redispubsub.SubscriptionOpts{Prefix: "t*1:", Status: true})
	topics := []redispubsub.Topic{
		redispubsub.Channel("news"), redispubsub.Pattern("x?"), redispubsub.Sharded("shard"),
		redispubsub.Pattern("__keyspace@*__:k*"), redispubsub.Channel("__keyevent@0__:del"),
	}
	require.NoError(t, sub.Subscribe(t.Context(), topics...))
	assert.ElementsMatch(t, topics, sub.Topics())

	for _, req := range []redis.Request{
		redis.Req("PUBLISH", "news", "of others"), redis.Req("PUBLISH", "tt1:news", "of others"), redis.Req("PUBLISH", "tt1:xy", "of others"),
		redis.Req("MSET", "k", 1, "tt1:k", 1), redis.Req("DEL", "k", "tt1:k"),
	} {
		require.NoError(t, redis.Err(all.Send(req)))
	}
	for _, req := range []redis.Request{
		redis.Req("PUBLISH", "xy", "2"), redis.Req("SPUBLISH", "shard", "3"), redis.Req("SET", "k1", "v"), redis.Req("DEL", "k1"),
		redis.Req("PUBLISH", "news", "last"),
	} {
		require.NoError(t, redis.Err(one.Send(req)))
	}
	var subscribed []redispubsub.Topic
	got := map[string][]string{}
	for ev, err := range sub.Events(t.Context()) {
		require.NoError(t, err)
		switch ev := ev.(type) {
		case redispubsub.Subscribed:
			subscribed = append(subscribed, ev.Topic)
		case redispubsub.Message:
			got[ev.Pattern+"|"+ev.Channel] = append(got[ev.Pattern+"|"+ev.Channel], string(ev.Payload))
		}
		if len(got["|news"]) > 0 && len(got["|shard"]) > 0 { // channels and sharded channels may have different sockets
			break
		}
	}
	assert.ElementsMatch(t, topics, subscribed)
	assert.Equal(t, map[string][]string{
		"|news": {"last"}, "x?|xy": {"2"}, "|shard": {"3"}, "|__keyevent@0__:del": {"k1"},
		"__keyspace@*__:k*|__keyspace@0__:k1": {"set", "del"},
	}, got)

	events := sub.Chan(t.Context())
	require.NoError(t, redis.Err(one.Do("PUBLISH", "news", "again")))
	assert.Equal(t, "news", (<-events).(redispubsub.Message).Channel)
	require.NoError(t, sub.Unsubscribe(t.Context(), topics[1:]...))
	assert.Equal(t, topics[:1], sub.Topics())
	var none *redispubsub.SubscribeError
	require.NoError(t, redis.Err(all.Do("ACL", "SETUSER", "default", "resetchannels")))
	require.ErrorAs(t, sub.Subscribe(t.Context(), redispubsub.Channel("t*1:refused")), &none)
	assert.Equal(t, []redispubsub.Topic{redispubsub.Channel("t*1:refused")}, none.Topics)
}
