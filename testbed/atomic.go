package testbed

import (
	"fmt"
	"strings"

	"github.com/joomcode/redispipe/redis"
)

// MoveSlotWhole moves a slot with its keys, of all databases, as servers with
// [AtomicMigration] do it by themselves, and waits until all agree: the source has all
// keys until the new owner has them all, and no client sees ASK. Moving it to its owner
// does nothing.
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

// beginWhole has one of the two nodes begin: in Valkey the source, in Redis the new owner.
func beginWhole(slot int, from, to *Node) error {
	err := from.call("CLUSTER MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", to.id)
	if err != nil && strings.Contains(err.Error(), "unknown subcommand") {
		return redis.AsError(to.Do("CLUSTER MIGRATION", "IMPORT", slot, slot))
	}
	return err
}
