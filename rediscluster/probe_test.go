package rediscluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/testbed"
)

func TestProbe(t *testing.T) {
	answer := testbed.ScriptedReplies("+OK\r\n")
	node, next := newScriptedNode(t, answer), newScriptedNode(t, answer)
	c, _ := connect(t, []string{node.Addr()}, calm)
	await(t, "connection", c.topology.Load().shards[0].master.isUp)
	assert.False(t, c.refresher.source.probe(), "nothing has changed")
	node.serve(next.Addr())
	assert.True(t, c.refresher.source.probe())
	nobody := "*0\r\n"
	node.slots.Store(&nobody)
	assert.False(t, c.refresher.source.probe(), "a node that knows nothing has no news")
}

// TestRestEndsWithNews: when somebody waits for them.
func TestRestEndsWithNews(t *testing.T) {
	answer := testbed.ScriptedReplies("+OK\r\n")
	node, next := newScriptedNode(t, answer), newScriptedNode(t, answer)
	c, _ := connect(t, []string{node.Addr()}, calm)
	await(t, "connection", c.topology.Load().shards[0].master.isUp)
	// The refresher's own goroutine has ended: the test is the refresher.
	c.cancel()
	<-c.refresher.done
	open, news := c.refresher.pause(time.Hour, true)
	assert.False(t, open)
	assert.False(t, news)

	alive, _ := connect(t, []string{node.Addr()}, calm)
	await(t, "connection", alive.topology.Load().shards[0].master.isUp)
	r := newRefresher(alive, &nodeSource{c: alive})
	asked := node.asked.Load()
	open, news = r.pause(2*probePause, true)
	assert.True(t, open)
	assert.False(t, news)
	assert.Equal(t, asked, node.asked.Load(), "nobody waits for news")
	r.force()
	open, news = r.pause(2*probePause, false)
	assert.True(t, open)
	assert.False(t, news)
	assert.Equal(t, asked, node.asked.Load(), "the last news came to nothing")
	node.serve(next.Addr())
	open, news = r.pause(time.Hour, true)
	assert.True(t, open)
	assert.True(t, news)
}
