package rediscluster

import (
	"math/rand/v2"
	"time"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// probePause is how often one node is asked, while refreshes keep their distance and
// requests go on asking for one. A master that was killed is replaced after seconds,
// when the distance has grown to forcedMost; the client is to notice in 0.2 s.
const probePause = 150 * time.Millisecond

// pause waits between two refreshes. With probing it ends early, with news, when a
// node tells other masters than the topology has. It returns open false if the
// cluster has closed meanwhile.
func (r *refresher) pause(d time.Duration, probing bool) (open, news bool) {
	until := time.Now().Add(d)
	for probing && time.Until(until) > probePause {
		if !r.sleep(probePause/2 + rand.N(probePause)) {
			return false, false
		}
		if len(r.forced) > 0 && r.probe() {
			return true, true
		}
	}
	return r.sleep(time.Until(until)), false
}

// probe asks one master, and reports whether it knows other masters than the
// topology has. Others learn of a new one within milliseconds, by the cluster's bus.
func (r *refresher) probe() (news bool) {
	defer r.c.recovered()
	t := r.c.topology.Load()
	var up []*link
	for _, s := range t.shards {
		if l := s.master.pick(r.c.opts.RoundRobinSeed, nil); l != nil && l.state.Load() == linkUp {
			up = append(up, l)
		}
	}
	if len(up) == 0 {
		return false
	}
	l := up[rand.N(len(up))]
	answer := make(chan any, 1)
	l.conn.Send(redis.Req("CLUSTER SLOTS"), wire.Own(func(res any, _ uint64) { answer <- res }), 0)
	late := time.NewTimer(askGrace)
	defer late.Stop()
	select {
	case res := <-answer:
		ranges, err := redisclusterutil.ParseSlotsInfo(res)
		return err == nil && t.contradicts(view{asked: l.node.addr, ranges: ranges}.named())
	case <-late.C:
	case <-r.c.ctx.Done():
	}
	return false
}

// contradicts reports whether the view has slots served by another master.
func (t *topology) contradicts(v view) bool {
	for _, r := range v.ranges {
		if len(r.Addrs) == 0 {
			continue
		}
		s := t.shard(r.From)
		if s == nil || s.master.addr != r.Addrs[0] && s.master != t.find(r.Addrs[0]) {
			return true
		}
	}
	return false
}
