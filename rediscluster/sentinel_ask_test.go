package rediscluster

import (
	"context"
	"testing"
	"time"

	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
)

// Once there is a topology, an event ends the wait for sentinels that do not answer.
func TestAskAllEndsWithNews(t *testing.T) {
	c := &Cluster{ctx: context.Background()}
	c.topology.Store(route.New(&topology.Layout{Shards: []topology.Shard{{Master: "10.0.0.1:1"}}}, func(at topology.Node) *route.Node { return &route.Node{Addr: at.Addr} }))
	s := newSentinels(c, nil, "main")
	c.refresher = newRefresher(c, s)
	s.opts.IOTimeout = time.Hour
	s.watched["silent"] = &sentinel{due: make(chan struct{}, 1), turns: lifetime.NewTurns(c.ctx)}
	c.refresher.news <- struct{}{}
	s.askAll(t.Context())
}
