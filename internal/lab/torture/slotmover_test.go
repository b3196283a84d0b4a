package torture

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/testbed"
)

// slotMover moves slots, one at a time, key by key or as a whole. Between two moves it makes a
// master hand over.
type slotMover struct {
	*ClusterRig
	often, seldom []string // tags of the slots that move often and seldom
	// mayMoveAgain counts the times at which slots that move seldom may move.
	mayMoveAgain atomic.Int64
	moved        map[string]int64 // by tag, the value of mayMoveAgain when the slot last moved
	whole        bool             // the servers can move slots as a whole
	// handsOver is set if masters hand over to replicas. A master of Redis 6.2 then accepts no
	// writes for 10 s.
	handsOver bool

	moves, failovers int
}

func newSlotMover(r *ClusterRig) *slotMover {
	whole, _ := testbed.Has(testbed.AtomicMigration)
	handsOver, _ := testbed.Has(testbed.Version(7, 0))
	return &slotMover{ClusterRig: r, moved: map[string]int64{}, whole: whole, handsOver: handsOver}
}

// next moves a slot, or makes the master of a slot hand over to its replica.
func (m *slotMover) next() error {
	tag := m.often[rand.IntN(len(m.often))]
	switch rand.IntN(10) {
	case 0:
		if !m.handsOver {
			return nil
		}
		m.failovers++
		return replace(m.ClusterRig, tag, func(_, replica *testbed.Node) error { return m.Nodes.Failover(replica, testbed.Graceful) })
	case 1, 2, 3:
		now := m.mayMoveAgain.Load()
		if tag = m.seldom[rand.IntN(len(m.seldom))]; m.moved[tag] == now {
			return nil
		}
		m.moved[tag] = now
	}
	slot, err := m.Nodes.Slot(tag)
	if err != nil {
		return err
	}
	owner, err := m.Nodes.Owner(slot)
	if err != nil {
		return err
	}
	masters, err := m.Nodes.Masters()
	if err != nil {
		return err
	}
	to := masters[rand.IntN(len(masters))]
	if to == owner {
		return nil
	}
	m.moves++
	if m.whole && rand.IntN(2) == 0 {
		return m.Nodes.MoveSlotWhole(slot, to)
	}
	return m.inSteps(slot, to)
}

// inSteps moves a slot key by key. It pauses after some of the keys, and again after all of them.
func (m *slotMover) inSteps(slot int, to *testbed.Node) error {
	rest := func() { time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) }
	migration, err := m.Nodes.BeginMigration(slot, to)
	if err != nil {
		return err
	}
	rest()
	if _, err := migration.MoveSome(1 + rand.IntN(10)); err != nil {
		return err
	}
	rest()
	if err := migration.MoveAll(); err != nil {
		return err
	}
	rest()
	return migration.Finish()
}
