package redisclusterutil

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func parsedNodes(t *testing.T) InstanceInfos {
	t.Helper()
	infos, err := ParseClusterNodes(clusterNodes)
	require.NoError(t, err)
	return infos
}

func TestInstanceAddr(t *testing.T) {
	cases := []struct {
		info       InstanceInfo
		has, valid bool
	}{
		{InstanceInfo{Addr: "127.0.0.1:1", IP: "127.0.0.1", Port: 1}, true, true},
		{InstanceInfo{Addr: ":1", Port: 1}, true, false},
		{InstanceInfo{Addr: "127.0.0.1:1", IP: "127.0.0.1", Port: 1, NoAddr: true}, false, false},
		{InstanceInfo{Addr: ":0"}, false, false},
	}
	for _, c := range cases {
		assert.Equal(t, c.has, c.info.HasAddr(), "%+v", c.info)
		assert.Equal(t, c.valid, c.info.AddrValid(), "%+v", c.info)
	}
}

func TestHosts(t *testing.T) {
	infos := parsedNodes(t)
	infos = append(infos, infos[0])
	want := []string{"127.0.0.1:30004", "127.0.0.1:30002", "[::1]:60003", "127.0.0.1:60006", "127.0.0.1:30001"}
	assert.Equal(t, want, infos.Hosts())
}

func TestSlotsRanges(t *testing.T) {
	want := []SlotsRange{
		{From: 0, To: 5460, Addrs: []string{"127.0.0.1:30001", "127.0.0.1:30004"}},
		{From: 5461, To: 10922, Addrs: []string{"127.0.0.1:30002"}, AddrHostnames: map[string]string{"127.0.0.1:30002": "host-2.example:30002"}},
		{From: 10923, To: 16382, Addrs: []string{"[::1]:60003"}, AddrHostnames: map[string]string{"[::1]:60003": "host-3.example:60003"}},
		{From: 16383, To: 16383, Addrs: []string{"[::1]:60003"}, AddrHostnames: map[string]string{"[::1]:60003": "host-3.example:60003"}},
	}
	assert.Equal(t, want, parsedNodes(t).SlotsRanges())
}

// A few hundred kilobytes of CLUSTER NODES can describe a master with tens of thousands of ranges and
// thousands of replicas. SlotsRanges must not copy the replicas for each range.
func TestSlotsRangesOfManyReplicas(t *testing.T) {
	master := InstanceInfo{Uuid: "m", IP: "10.0.0.1", Port: 1, Addr: "10.0.0.1:1"}
	for slot := range uint16(NumSlots) {
		master.Slots = append(master.Slots, [2]uint16{slot, slot})
	}
	infos := InstanceInfos{master}
	for range 8 {
		infos = append(infos, InstanceInfo{Uuid: "r", SlaveOf: "m", IP: "10.0.0.2", Port: 1, Addr: "10.0.0.2:1"})
	}
	var ranges []SlotsRange
	allocs := testing.AllocsPerRun(1, func() { ranges = infos.SlotsRanges() })
	require.Len(t, ranges, NumSlots)
	assert.Len(t, ranges[1].Addrs, 9)
	assert.Less(t, allocs, float64(NumSlots), "the addresses are there once for each master")
	assert.Equal(t, len(ranges[1].Addrs), cap(ranges[1].Addrs), "what is appended is not shared")
}

func TestCollectAddressesAndMigrations(t *testing.T) {
	infos := parsedNodes(t)
	addrs, migrating := map[string]struct{}{}, map[uint16]struct{}{}
	infos.CollectAddressesAndMigrations(addrs, migrating)
	assert.Len(t, addrs, 5)
	assert.Equal(t, map[uint16]struct{}{77: {}, 93: {}}, migrating)
	assert.NotPanics(t, func() { infos.CollectAddressesAndMigrations(nil, nil) })
}

func TestHashSum(t *testing.T) {
	infos := parsedNodes(t)
	sum := infos.HashSum()
	shuffled := slices.Clone(infos)
	slices.Reverse(shuffled)
	assert.Equal(t, sum, shuffled.HashSum(), "the order does not matter")

	for name, change := range map[string]func(i *InstanceInfo){
		"address":  func(i *InstanceInfo) { i.Addr = "127.0.0.1:1" },
		"failure":  func(i *InstanceInfo) { i.Fail = true },
		"role":     func(i *InstanceInfo) { i.SlaveOf = "x" },
		"slots":    func(i *InstanceInfo) { i.Slots = [][2]uint16{{0, 5459}} },
		"migrated": func(i *InstanceInfo) { i.Migrating = nil },
	} {
		changed := slices.Clone(infos)
		change(&changed[5])
		assert.NotEqual(t, sum, changed.HashSum(), name)
	}
}

func TestMergeWith(t *testing.T) {
	one := InstanceInfos{
		{Uuid: "b", Addr: "b:1", ConfigEpoch: 1, Slots: [][2]uint16{{0, 1}}},
		{Uuid: "a", Addr: "a:1", ConfigEpoch: 1, MySelf: true},
	}
	two := InstanceInfos{
		{Uuid: "a", Addr: "a:2", ConfigEpoch: 9},
		{Uuid: "b", Addr: "b:1", ConfigEpoch: 2, Slots: [][2]uint16{{0, 2}}},
		{Uuid: "c", Addr: "c:1"},
	}
	want := InstanceInfos{one[1], two[1], two[2]}
	assert.Equal(t, want, one.MergeWith(two))
	assert.Equal(t, want, two.MergeWith(one))
	assert.Equal(t, want, want.MergeWith(nil))
}
