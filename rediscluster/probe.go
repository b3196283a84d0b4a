package rediscluster

import (
	"math/rand/v2"
	"time"
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
		if len(r.forced) > 0 && r.source.probe() {
			return true, true
		}
	}
	return r.sleep(time.Until(until)), false
}
