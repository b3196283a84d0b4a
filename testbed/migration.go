package testbed

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/joomcode/redispipe/redis"
)

const (
	// migrateKeys is the number of keys that one MIGRATE moves, at most.
	migrateKeys = 100
	// migrateTimeout bounds one MIGRATE, in milliseconds.
	migrateTimeout = 5000
)

// Migration is a slot that moves from one master to another. Between BeginMigration and Finish or
// Abort, the slot is half moved: the source answers for the keys that it still has, and replies ASK
// for all others.
type Migration struct {
	c        *Cluster
	slot     int
	from, to *Node
}

// MoveSlot moves a slot with its keys and waits until all nodes agree. If the slot is already
// there, MoveSlot does nothing. Before Redis 7.0, a master that gives its last slot away becomes a
// replica, and MoveSlot fails.
func (c *Cluster) MoveSlot(slot int, to *Node) error {
	from, err := c.Owner(slot)
	if err != nil || from == to {
		return err
	}
	m, err := c.BeginMigration(slot, to)
	if err != nil {
		return err
	}
	if err := m.MoveAll(); err != nil {
		return err
	}
	if err := m.Finish(); err != nil {
		return err
	}
	return c.WaitAgreed()
}

// BeginMigration marks a slot as importing at node to and as migrating at its owner, and moves no
// key.
func (c *Cluster) BeginMigration(slot int, to *Node) (*Migration, error) {
	from, err := c.Owner(slot)
	if err != nil {
		return nil, err
	}
	if from == to {
		return nil, fmt.Errorf("testbed: migrate slot %d: %v has it already", slot, to)
	}
	m := &Migration{c, slot, from, to}
	// In this order the source never redirects to a node that refuses the request.
	if err := to.setSlot(slot, "IMPORTING", from.id); err != nil {
		return nil, err
	}
	return m, from.setSlot(slot, "MIGRATING", to.id)
}

// Slot returns the slot that moves.
func (m *Migration) Slot() int { return m.slot }

// From returns the node that the slot leaves.
func (m *Migration) From() *Node { return m.from }

// To returns the node to which the slot moves.
func (m *Migration) To() *Node { return m.to }

// MoveKeys moves these keys of the slot. It skips keys that do not exist.
func (m *Migration) MoveKeys(keys ...string) error { return m.c.migrate(m.from, m.to, keys) }

// MoveSome moves up to n arbitrary keys of the slot, and returns how many it has moved.
func (m *Migration) MoveSome(n int) (int, error) {
	keys, err := m.from.keysInSlot(m.slot, n)
	if err != nil {
		return 0, err
	}
	return len(keys), m.c.migrate(m.from, m.to, keys)
}

// MoveAll moves the remaining keys of the slot.
func (m *Migration) MoveAll() error { return m.c.drain(m.slot, m.from, m.to) }

// Finish waits until all nodes agree, gives the slot to its new owner and tells all live masters.
// All keys must have been moved, because the source would lose the others.
func (m *Migration) Finish() error {
	left, err := m.from.keysInSlot(m.slot, 1)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("testbed: finish the move of slot %d: %v has keys of it", m.slot, m.from)
	}
	// The new owner claims the slot with the newest epoch that it knows.
	if err := m.c.WaitAgreed(); err != nil {
		return err
	}
	if err := m.to.setSlot(m.slot, "NODE", m.to.id); err != nil {
		return err
	}
	if err := m.from.setSlot(m.slot, "NODE", m.to.id); err != nil {
		return err
	}
	masters, err := m.c.Masters()
	if err != nil {
		return err
	}
	for _, n := range masters {
		if n == m.from || n == m.to || !n.live() {
			continue
		}
		if err := n.setSlot(m.slot, "NODE", m.to.id); err != nil {
			return err
		}
	}
	return nil
}

// Abort moves the keys back and ends the migration: the slot stays at its owner. Until the last key
// is back, the source does not find the keys that are not back yet.
func (m *Migration) Abort() error {
	// While the source is giving the slot away, it refuses keys of that slot.
	if err := m.from.setSlot(m.slot, "STABLE"); err != nil {
		return err
	}
	if err := m.c.drain(m.slot, m.to, m.from); err != nil {
		return err
	}
	return m.to.setSlot(m.slot, "STABLE")
}

// setSlot runs CLUSTER SETSLOT.
func (n *Node) setSlot(slot int, args ...any) error {
	return n.call("CLUSTER SETSLOT", append([]any{slot}, args...)...)
}

// drain moves all keys of a slot.
func (c *Cluster) drain(slot int, from, to *Node) error {
	for {
		keys, err := from.keysInSlot(slot, migrateKeys)
		if err != nil || len(keys) == 0 {
			return err
		}
		if err := c.migrate(from, to, keys); err != nil {
			return err
		}
	}
}

// keysInSlot returns up to limit keys of a slot.
func (n *Node) keysInSlot(slot, limit int) ([]string, error) {
	res := n.Do("CLUSTER GETKEYSINSLOT", slot, limit)
	list, ok := res.([]any)
	if !ok {
		return nil, n.failed("CLUSTER GETKEYSINSLOT", redis.AsError(res))
	}
	var keys []string
	for _, key := range list {
		if key, ok := key.([]byte); ok {
			keys = append(keys, string(key))
		}
	}
	return keys, nil
}

// migrate moves keys from node to node. While a node considers the cluster down, it refuses keys, so
// migrate waits.
func (c *Cluster) migrate(from, to *Node, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	to.mu.Lock()
	num := to.ports.plain.num
	if to.opts.TLS {
		num = to.ports.tls.num
	}
	to.mu.Unlock()
	args := []any{"127.0.0.1", num, "", 0, migrateTimeout}
	if to.opts.Password != "" {
		args = append(args, "AUTH", to.opts.Password)
	}
	args = append(args, "KEYS")
	for _, key := range keys {
		args = append(args, key)
	}
	var err error
	waited := waitUntil(c.opts.AgreeTimeout, "node that takes keys", func() error {
		if err = from.call("MIGRATE", args...); err != nil && strings.Contains(err.Error(), "Target instance replied") {
			return err
		}
		return nil
	})
	return cmp.Or(waited, err)
}

// MoveSlotWhole makes servers with [AtomicMigration] move a slot with its keys, in all databases,
// and waits until all agree. The source has all keys until the new owner has them all, and no
// client sees ASK. If the slot is already there, MoveSlotWhole does nothing.
func (c *Cluster) MoveSlotWhole(slot int, to *Node) error {
	from, err := c.Owner(slot)
	if err != nil || from == to {
		return err
	}
	if err := beginWhole(slot, from, to); err != nil {
		return err
	}
	if err := waitUntil(c.opts.AgreeTimeout, "new owner of a slot", func() error {
		peers, err := to.view()
		if err != nil {
			return err
		}
		owner, err := c.ownerIn(peers, slot)
		if err == nil && owner != to {
			err = fmt.Errorf("%v has slot %d still", owner, slot)
		}
		return err
	}); err != nil {
		return err
	}
	return c.WaitAgreed()
}

// beginWhole makes one of the two nodes start the move: in Valkey the source, in Redis the new
// owner.
func beginWhole(slot int, from, to *Node) error {
	err := from.call("CLUSTER MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", to.id)
	if err != nil && strings.Contains(err.Error(), "unknown subcommand") {
		return redis.AsError(to.Do("CLUSTER MIGRATION", "IMPORT", slot, slot))
	}
	return err
}
