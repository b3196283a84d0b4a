package rediscluster

import (
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// masterOnly holds the slots that are read only from their masters, because an operator has
// listed them under [redisclusterutil.MasterOnlyKey]. Each refresh reads the key from the master that
// has it, unless that master has answered that the user may not read the key.
type masterOnly struct {
	slots   map[uint16]struct{}
	refused *route.Node
}

var (
	masterOnlySlot = int(redisclusterutil.Slot(redisclusterutil.MasterOnlyKey))
	readMasterOnly = redis.Req("SMEMBERS", redisclusterutil.MasterOnlyKey)
)

// ask asks the master that has the key. It reports whether it has sent the question; the answer
// arrives on answers.
func (m *masterOnly) ask(t *route.Snapshot, answers chan<- func() (good bool)) bool {
	s := t.Shard(masterOnlySlot)
	if s == nil || s.Master == m.refused {
		return false
	}
	l := s.Master.Pick(route.FixedSeed(0), nil)
	if l == nil {
		return false
	}
	l.Conn.Send(readMasterOnly, send.Internal(func(res any, _ uint64) {
		answers <- func() bool {
			m.hear(s.Master, res)
			return false
		}
	}), 0)
	return true
}

// hear records the answer of a node. After an error the last known slots stay in use.
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
