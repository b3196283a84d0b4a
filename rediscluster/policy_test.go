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
