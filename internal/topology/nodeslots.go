package topology

import "github.com/joomcode/redispipe/rediscluster/redisclusterutil"

// NodeSlots are the slots of a node as it says itself.
type NodeSlots struct {
	owned SlotSet
	// leaving are the addresses that slots are being moved to, coming are slots
	// that are being moved here.
	leaving map[uint16]string
	coming  SlotSet
}

// NodeSlotsOf takes them from a node's answer to CLUSTER NODES.
func NodeSlotsOf(nodes redisclusterutil.InstanceInfos) *NodeSlots {
	h := &NodeSlots{leaving: make(map[uint16]string)}
	me := nodes.MySelf()
	if me == nil || !me.IsMaster() {
		return h
	}
	for _, slots := range me.Slots {
		for slot := int(slots[0]); slot <= int(slots[1]); slot++ {
			h.owned.Add(uint16(slot))
		}
	}
	for _, m := range me.Migrating {
		if m.Moving == redisclusterutil.SlotImporting {
			h.coming.Add(m.Number)
			continue
		}
		for _, n := range nodes { // what went to one that has left is lost
			if n.Uuid == m.Peer {
				h.leaving[m.Number] = n.Addr
			}
		}
	}
	return h
}

// NodeSlots are those of the node at a place as far as the layout knows.
func (l *Layout) NodeSlots(at int) *NodeSlots {
	h, mine := &NodeSlots{}, l.shardOf(at)
	for slot, shard := range l.Slots {
		if int(shard) == mine {
			h.owned.Add(uint16(slot))
		}
	}
	return h
}

// has reports whether the node has the slot, or imports it, if that counts.
func (h *NodeSlots) has(slot int, coming bool) bool {
	return h.owned.Has(slot) || coming && h.coming.Has(slot)
}
