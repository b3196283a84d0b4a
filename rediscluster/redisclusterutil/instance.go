package redisclusterutil

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
)

// SlotMoving is the direction of a slot's migration.
type SlotMoving byte

const (
	// SlotMigrating: the slot moves to another node.
	SlotMigrating SlotMoving = 1
	// SlotImporting: the slot moves here from another node.
	SlotImporting SlotMoving = 2
)

// SlotMigration is a moving slot, as one of the two nodes reports it.
type SlotMigration struct {
	Number uint16
	Moving SlotMoving
	// Peer is the Uuid of the other node.
	Peer string
}

// InstanceInfo is a node of a cluster: a line of CLUSTER NODES.
type InstanceInfo struct {
	Uuid string
	// Addr is IP:port. The IP is empty if the node does not know its own.
	Addr string
	IP   string
	Port int
	// Port2 is the port of the cluster bus.
	Port2 int
	// Hostname is empty if the node announces none.
	Hostname string

	NoAddr bool
	MySelf bool
	// Fail: the cluster agrees that the node has failed. PFail: the answering node suspects that the
	// node has failed.
	Fail  bool
	PFail bool
	// Connected: the answering node is connected to this node by the cluster bus.
	Connected bool
	// SlaveOf is the Uuid of the master, empty for a master.
	SlaveOf string
	// ConfigEpoch is the version of the master's claim to its slots: if two claims contradict each
	// other, the one with the greater epoch wins.
	ConfigEpoch uint64
	// Slots are ranges, both ends included.
	Slots [][2]uint16
	// Migrating is known only for the answering node.
	Migrating []SlotMigration
}

// HasAddr reports whether the answering node knows an address of this one.
func (i InstanceInfo) HasAddr() bool { return !i.NoAddr && i.Port != 0 }

// AddrValid reports whether Addr has a host and a port to dial.
func (i InstanceInfo) AddrValid() bool { return i.HasAddr() && i.IP != "" }

// IsMaster reports whether the node is a master.
func (i InstanceInfo) IsMaster() bool { return i.SlaveOf == "" }

// InstanceInfos are the nodes of a cluster, as reported by one or several of them.
type InstanceInfos []InstanceInfo

// Hosts returns the addresses (host:port) of nodes that can be dialed, each once.
func (is InstanceInfos) Hosts() []string {
	seen := make(map[string]struct{}, len(is))
	hosts := make([]string, 0, len(is))
	for _, i := range is {
		if _, dup := seen[i.Addr]; !dup && i.AddrValid() {
			seen[i.Addr] = struct{}{}
			hosts = append(hosts, i.Addr)
		}
	}
	return hosts
}

// MySelf returns the node that answered, or nil.
func (is InstanceInfos) MySelf() *InstanceInfo {
	for n := range is {
		if is[n].MySelf {
			return &is[n]
		}
	}
	return nil
}

// CollectAddressesAndMigrations adds the addresses of nodes that can be dialed
// to addrs, and the moving slots to migrating. Either may be nil.
func (is InstanceInfos) CollectAddressesAndMigrations(addrs map[string]struct{}, migrating map[uint16]struct{}) {
	for _, i := range is {
		if addrs != nil && i.AddrValid() {
			addrs[i.Addr] = struct{}{}
		}
		if migrating == nil {
			continue
		}
		for _, m := range i.Migrating {
			migrating[m.Number] = struct{}{}
		}
	}
}

// SlotsRanges returns the same as CLUSTER SLOTS: the ranges of each master, sorted, with
// the addresses of the master and of its replicas that have not failed. The ranges of a master
// share the slice of addresses: don't modify it.
func (is InstanceInfos) SlotsRanges() []SlotsRange {
	replicas := make(map[string][]InstanceInfo)
	for _, i := range is {
		if !i.IsMaster() && !i.Fail && i.HasAddr() {
			replicas[i.SlaveOf] = append(replicas[i.SlaveOf], i)
		}
	}
	ranges := []SlotsRange{}
	for _, master := range is {
		if !master.IsMaster() || !master.HasAddr() {
			continue
		}
		var r SlotsRange
		for _, node := range append([]InstanceInfo{master}, replicas[master.Uuid]...) {
			r.Addrs = append(r.Addrs, node.Addr)
			if node.Hostname != "" {
				setText(&r.AddrHostnames, node.Addr, joinHostPort(node.Hostname, node.Port))
			}
		}
		r.Addrs = slices.Clip(r.Addrs)
		for _, slots := range master.Slots {
			r.From, r.To = int(slots[0]), int(slots[1])
			ranges = append(ranges, r)
		}
	}
	sortRanges(ranges)
	return ranges
}

// HashSum returns a hash of the data that clients use: addresses, roles, failures, slots and
// migrations. It does not depend on the order of the nodes.
func (is InstanceInfos) HashSum() uint64 {
	var sum uint64
	for _, i := range is {
		h := fnv.New64a()
		fmt.Fprintf(h, "%q %q %q %q %t %t", i.Uuid, i.Addr, i.Hostname, i.SlaveOf, i.NoAddr, i.Fail)
		fmt.Fprint(h, i.Slots)
		for _, m := range i.Migrating {
			fmt.Fprintf(h, " %d %d %q", m.Number, m.Moving, m.Peer)
		}
		sum += h.Sum64()
	}
	return sum
}

// MergeWith returns the nodes in is or other, each once, sorted by Uuid. If both have
// a node, it prefers the node's report about itself (MySelf), then the entry with the
// greater ConfigEpoch, then the entry in is.
func (is InstanceInfos) MergeWith(other InstanceInfos) InstanceInfos {
	byUuid := make(map[string]InstanceInfo, len(is))
	for _, infos := range []InstanceInfos{is, other} {
		for _, i := range infos {
			if known, ok := byUuid[i.Uuid]; !ok || i.overrides(known) {
				byUuid[i.Uuid] = i
			}
		}
	}
	merged := make(InstanceInfos, 0, len(byUuid))
	for _, uuid := range slices.Sorted(maps.Keys(byUuid)) {
		merged = append(merged, byUuid[uuid])
	}
	return merged
}

func (i InstanceInfo) overrides(known InstanceInfo) bool {
	if i.MySelf != known.MySelf {
		return i.MySelf
	}
	return i.ConfigEpoch > known.ConfigEpoch
}
