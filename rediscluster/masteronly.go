package rediscluster

import (
	"github.com/joomcode/redispipe/internal/route"
	"github.com/joomcode/redispipe/internal/topology"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// masterOnly are the slots that are read from their masters only, which operators note
// under [redisclusterutil.MasterOnlyKey]. The master that has the key is asked for them
// beside its layout, unless it has said that the user has no right to read it.
type masterOnly struct {
	slots   map[uint16]struct{}
	refused *route.Node
}

var (
	masterOnlySlot = int(redisclusterutil.Slot(redisclusterutil.MasterOnlyKey))
	readMasterOnly = redis.Req("SMEMBERS", redisclusterutil.MasterOnlyKey)
)

// node returns the node to be asked, nil if there is none.
func (m *masterOnly) node(t *route.Snapshot) *route.Node {
	if s := t.Shard(masterOnlySlot); s != nil && s.Master != m.refused {
		return s.Master
	}
	return nil
}

// hear takes in what a node has answered. After an error the last slots stay.
func (m *masterOnly) hear(n *route.Node, res any) {
	slots, _, err := redisclusterutil.ParseMasterOnly(res)
	switch {
	case err == nil:
		m.slots = slots
	case route.NotPermitted(err):
		m.refused = n
	}
}

// mark marks the slots in a layout.
func (m *masterOnly) mark(l *topology.Layout) {
	for slot := range m.slots {
		l.MasterOnly.Add(slot)
	}
}
