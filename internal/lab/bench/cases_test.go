package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/bench/peer"
)

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range allCases() {
		assert.False(t, seen[c.ID], c.ID)
		seen[c.ID] = true
		assert.NotZero(t, c.Kind)
		assert.NotZero(t, c.Size)
	}
	for _, d := range peer.Drivers() {
		assert.False(t, seen[d.Name], d.Name)
		seen[d.Name] = true
	}
}

func TestSelect(t *testing.T) {
	ids := func(patterns string, quick bool) (out []string) {
		cases, err := selectCases(patterns, quick)
		require.NoError(t, err)
		for _, c := range cases {
			out = append(out, c.ID)
		}
		return out
	}
	assert.Equal(t, []string{"c1", "c8"}, ids("c8,c1", false))
	assert.Equal(t, []string{"procs1-c128", "procs2-c128", "procs8-c128", "procs32-c128"}, ids("procs*-c128", true))
	assert.Greater(t, len(ids("", false)), len(ids("", true)))
	for _, bad := range []string{"nothing", "[", "c1,,c8"} {
		_, err := selectCases(bad, false)
		assert.Error(t, err, bad)
	}
	drivers, err := selectDrivers("rueidis*")
	require.NoError(t, err)
	assert.Len(t, drivers, 2)
}

func TestFits(t *testing.T) {
	fits := func(id, client string) bool {
		c, ok := find(id)
		require.True(t, ok, id)
		d, ok := peer.ByName(client)
		require.True(t, ok, client)
		return c.fits(d)
	}
	assert.True(t, fits("c1", floor))
	assert.False(t, fits("c8", floor))
	assert.True(t, fits("delay-1ms", floor), "it says what the round trip is")
	assert.False(t, fits("cluster3-c128", "redigo"))
	assert.True(t, fits("c128", oursSync))
	assert.False(t, fits("1k-c128", oursSync))
	assert.True(t, fits("1k-c128", ours))
	assert.False(t, fits("many100-c4", "go-redis auto"))
	assert.False(t, fits("limit-16", ours))
}

func TestQuickFitsItsBudget(t *testing.T) {
	cases, err := selectCases("", true)
	require.NoError(t, err)
	r := &runner{cases: cases, drivers: peer.Drivers()}
	d := r.durationWithin(quickBudget)
	assert.Greater(t, d, 200*time.Millisecond, "measurements get too short")
	assert.Less(t, d, 10*time.Second)
}

func TestLimitOfTheSameSize(t *testing.T) {
	for id, want := range map[string]string{
		"c1": "limit-16", "many100-c4": "limit-16", "procs8-c128": "limit-16",
		"1k-c128": "limit-1k", "16k-c64": "limit-16k",
		"cluster3-c8": "", "tls-c8": "", "delay-1ms": "", "queue-c8": "",
	} {
		c, ok := find(id)
		require.True(t, ok, id)
		assert.Equal(t, want, c.limitID(), id)
	}
}
