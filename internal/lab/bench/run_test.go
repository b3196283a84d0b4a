package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/bench/peer"
	"github.com/joomcode/redispipe/testbed"
)

// TestMain makes the test's binary behave like a child process of a run.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "-child" || os.Args[1] == "-delay") {
		main()
		return
	}
	testbed.RequireRedis()
	os.Exit(m.Run())
}

// TestEveryClientInEveryLoop runs each client in each kind of loop for a moment.
func TestEveryClientInEveryLoop(t *testing.T) {
	cases := "c8,random3-c8,many100-c4,delay-0.2ms,tls-c128,phases,rate-5k,idle-10,waiting,limit-16,queue-c8,limiter-c8,leaderboard-c8,handover-1,cancellation-stalled-c8,deadline-loaded-c8"
	if testing.Short() {
		cases = "c8,many100-c4,tls-c128,delay-0.2ms,queue-c8,limiter-c8,leaderboard-c8,handover-1"
	}
	chosen, err := selectCases(cases, false)
	require.NoError(t, err)
	for i := range chosen {
		if chosen[i].Kind != openLoop {
			chosen[i].Callers = min(chosen[i].Callers, 100)
		}
	}
	r := &runner{
		cases: chosen, drivers: peer.Drivers(), rounds: 1, duration: 50 * time.Millisecond,
		results: newResults(), log: t.Output(), interrupted: make(chan os.Signal),
	}
	require.NoError(t, r.run())
	assert.Empty(t, r.results.failed)
	for _, c := range chosen {
		for _, d := range r.drivers {
			if c.fits(d) {
				assert.NotEmpty(t, r.results.runs[key{c.ID, d.Name}], "%s %s", c.ID, d.Name)
			}
		}
	}
	batched, ok := r.results.median("many100-c4", ours, opsPerRead)
	assert.True(t, ok)
	assert.Greater(t, batched, 10.0, "batches are counted as they are")
	assert.Contains(t, r.about(), "Redis 7")
}
