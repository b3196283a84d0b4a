package rediscluster

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAllowsReplica(t *testing.T) {
	for policy, want := range map[ReplicaPolicyEnum][2]bool{ // for what is not safe, and for what is
		MasterOnly:           {false, false},
		MasterAndSlaves:      {false, true},
		PreferSlaves:         {false, true},
		ForceMasterAndSlaves: {true, true},
		ForcePreferSlaves:    {true, true},
	} {
		assert.Equal(t, want, [2]bool{policy.allowsReplica(false), policy.allowsReplica(true)}, policy)
		assert.NotContains(t, policy.String(), "unknown")
	}
	assert.False(t, ReplicaPolicyEnum(99).allowsReplica(true), "unknown policies go to the master")
	assert.Equal(t, "unknown policy", ReplicaPolicyEnum(99).String())
}

func TestChoose(t *testing.T) {
	const draws = 10000
	cases := []struct {
		name    string
		weights []uint64
		shares  []float64
	}{
		{"one", []uint64{5}, []float64{1}},
		{"even", []uint64{1, 1}, []float64{0.5, 0.5}},
		{"replicas preferred", []uint64{1, 3, 3}, []float64{1. / 7, 3. / 7, 3. / 7}},
		{"zero is not drawn", []uint64{0, 1, 0}, []float64{0, 1, 0}},
		{"all zero count as equal", []uint64{0, 0, 0, 0}, []float64{0.25, 0.25, 0.25, 0.25}},
		{"large", []uint64{3 * 100 << 32, 100 << 32}, []float64{0.75, 0.25}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			counts := make([]int, len(c.weights))
			for seed := range uint32(draws) {
				counts[choose(c.weights, seed)]++
			}
			for i, share := range c.shares {
				assert.InDelta(t, share*draws, counts[i], draws/100, "index %d", i)
			}
		})
	}
}

func TestLatencyShare(t *testing.T) {
	assert.Equal(t, uint64(100), latencyShare(10, 10))
	assert.Equal(t, uint64(25), latencyShare(10, 40))
	assert.Equal(t, uint64(1), latencyShare(10, 100000))
}

func TestFairRoundRobinSeed(t *testing.T) {
	var seed FairRoundRobinSeed
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				seed.Current()
			}
		})
	}
	all.Wait()
	assert.Equal(t, uint32(4001), seed.Current())
}

func TestTimedRoundRobinSeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seed := NewTimedRoundRobinSeed(10 * time.Millisecond)
		first := seed.Current()
		assert.Equal(t, first, seed.Current())
		time.Sleep(35 * time.Millisecond)
		assert.Equal(t, first+3, seed.Current())
		seed.Stop()
		time.Sleep(time.Second)
		assert.Equal(t, first+3, seed.Current())
		seed.Stop()
		assert.Equal(t, first+3, seed.Current())
	})
	assert.NotPanics(t, func() { NewTimedRoundRobinSeed(0).Current() })
	assert.Same(t, DefaultRoundRobinSeed(), DefaultRoundRobinSeed())
}
