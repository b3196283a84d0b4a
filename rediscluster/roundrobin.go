package rediscluster

import (
	"sync/atomic"
	"time"
)

// RoundRobinSeed provides the numbers by which nodes and connections are chosen. It is
// called for each request that has a choice, by many goroutines.
type RoundRobinSeed interface {
	// Current returns the current number. Consecutive numbers give the nodes exactly
	// their shares.
	Current() uint32
}

// FairRoundRobinSeed changes with each request: requests are spread evenly, and
// batches are smaller. The zero value is ready.
type FairRoundRobinSeed struct {
	n atomic.Uint32
}

// Current implements RoundRobinSeed.
func (s *FairRoundRobinSeed) Current() uint32 { return s.n.Add(1) }

// TimedRoundRobinSeed changes with time: requests within one interval go to the same
// node, in larger batches.
type TimedRoundRobinSeed struct {
	start    time.Time
	interval time.Duration
	// stopped is the last number plus one, once Stop was called.
	stopped atomic.Uint64
}

// defaultSeedInterval: long enough for batches of thousands of requests, and
// short enough for shares to be even over any second.
const defaultSeedInterval = 45 * time.Millisecond

// NewTimedRoundRobinSeed makes a seed that changes every interval, which is at least 1
// ms.
func NewTimedRoundRobinSeed(interval time.Duration) *TimedRoundRobinSeed {
	return &TimedRoundRobinSeed{start: time.Now(), interval: max(interval, time.Millisecond)}
}

// Current implements RoundRobinSeed.
func (s *TimedRoundRobinSeed) Current() uint32 {
	if last := s.stopped.Load(); last != 0 {
		return uint32(last - 1)
	}
	return s.running()
}

func (s *TimedRoundRobinSeed) running() uint32 {
	return uint32(time.Since(s.start) / s.interval)
}

// Stop keeps the seed at its current number forever.
func (s *TimedRoundRobinSeed) Stop() {
	s.stopped.CompareAndSwap(0, uint64(s.running())+1)
}

// userSeed is a seed of the user's. If it panics, that is reported, and it draws 0.
type userSeed struct {
	c *Cluster
	RoundRobinSeed
}

// seedOf returns the seed that a cluster is to use for a given one.
func (c *Cluster) seedOf(given RoundRobinSeed) RoundRobinSeed {
	switch given.(type) {
	case *FairRoundRobinSeed, *TimedRoundRobinSeed:
		return given
	}
	return userSeed{c, given}
}

// Current implements RoundRobinSeed.
func (s userSeed) Current() (n uint32) {
	defer s.c.recovered()
	return s.RoundRobinSeed.Current()
}

var defaultSeed = NewTimedRoundRobinSeed(defaultSeedInterval)

// DefaultRoundRobinSeed returns the seed that all clusters share by default. It changes
// every 45 ms. Do not stop it.
func DefaultRoundRobinSeed() *TimedRoundRobinSeed { return defaultSeed }
