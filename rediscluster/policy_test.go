package rediscluster

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/wire"
)

func TestPolicyAllowsReplicas(t *testing.T) {
	for policy, want := range map[ReplicaPolicyEnum][2]bool{ // for what is not safe, and for what is
		MasterOnly:            {false, false},
		MasterAndSlaves:       {false, true},
		PreferSlaves:          {false, true},
		ForceMasterAndSlaves:  {true, true},
		ForcePreferSlaves:     {true, true},
		ReplicaPolicyEnum(99): {false, false},
	} {
		for i, safe := range []bool{false, true} {
			spec, err := (&within{&Cluster{}, policy.spec(nil)}).specOf(&wire.Request{ReplicaSafe: safe})
			assert.Nil(t, err)
			assert.Equal(t, want[i], spec.Replicas, "%s, safe: %t", policy, safe)
		}
		assert.Equal(t, policy == ReplicaPolicyEnum(99), policy.String() == "unknown policy")
	}
	assert.Equal(t, uint64(3), PreferSlaves.spec(nil).ReplicaShare)
	assert.Equal(t, uint64(1), ForceMasterAndSlaves.spec(nil).ReplicaShare)
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
