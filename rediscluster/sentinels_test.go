package rediscluster

import (
	"context"
	"testing"
	"time"
)

// News end the wait for sentinels that are silent, once there is a topology.
func TestAskAllEndsWithNews(t *testing.T) {
	c := &Cluster{ctx: context.Background()}
	c.topology.Store(newTopology(groupLayout("10.0.0.1:1", nil), func(addr string, _ bool) *node { return &node{c: c, addr: addr} }))
	s := newSentinels(c, nil, "main")
	s.opts.IOTimeout = time.Hour
	s.watched["silent"] = &sentinel{due: make(chan struct{}, 1), next: make(chan struct{})}
	s.signal <- struct{}{}
	s.askAll()
}
