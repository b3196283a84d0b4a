package topology

import (
	"maps"
	"slices"
)

// speaker is a node of a cluster, or a sentinel. It reports which nodes or sentinels it knows.
type speaker struct {
	id string // the speaker's own ID; empty if it is not known
	// members holds the IDs that the speaker knows, including its own; nil if it reports none.
	members map[string]bool
}

// know adds an ID that the speaker knows, which is its own if own is set.
func (s *speaker) know(id string, own bool) {
	if s.members == nil {
		s.members = map[string]bool{}
	}
	s.members[id] = true
	if own {
		s.id = id
	}
}

// together returns groups of speakers, as indices. Two speakers belong together if each knows the
// other. A speaker that does not report its own ID counts as known to all; one that reports no members
// counts as knowing all. There is a group for each speaker that reports members, so the same group may
// occur several times. If no speaker reports members, all of them are one group.
func together(all []speaker) (groups [][]int) {
	knows := func(i, j int) bool { return all[i].members == nil || all[j].id == "" || all[i].members[all[j].id] }
	var everybody []int
	for i := range all {
		everybody = append(everybody, i)
		var group []int
		for j := range all {
			if knows(i, j) && knows(j, i) {
				group = append(group, j)
			}
		}
		if all[i].members != nil {
			groups = append(groups, group)
		}
	}
	if groups == nil && everybody != nil {
		groups = [][]int{everybody}
	}
	return groups
}

// memory is the set of the IDs of the nodes or sentinels that a client knows. The zero value is empty.
type memory map[string]bool

// shared returns how many of the IDs in the memory the speakers of a group know.
func (m memory) shared(all []speaker, group []int) (n int) {
	for id := range m {
		if slices.ContainsFunc(group, func(i int) bool { return all[i].members[id] }) {
			n++
		}
	}
	return n
}

// kin returns the groups that know more than half of the IDs in the memory, or all groups if the memory
// is empty. So it leaves out a foreign node that has got the address of a dead one, and a former member
// that has joined another cluster.
func (m memory) kin(all []speaker, groups [][]int) [][]int {
	return slices.DeleteFunc(slices.Clone(groups), func(group []int) bool { return len(m) > 0 && 2*m.shared(all, group) <= len(m) })
}

// Kin is a client's memory of its cluster.
type Kin struct {
	ids memory // the nodes that had not failed
	// members holds the IDs of all nodes. The map never changes; a new one replaces it.
	members map[string]bool
	// whole is set once all slots have had an owner. Before that the nodes may not be the intended
	// cluster, but for example a single node that was given a few slots by mistake.
	whole bool
}

// Members returns the IDs of the nodes of the cluster, or none if they are not known. Don't modify the
// map.
func (k *Kin) Members() map[string]bool { return k.members }

// Whole reports whether at some time all slots of the cluster have had an owner.
func (k *Kin) Whole() bool { return k.whole }

// OfNodes builds a layout from the views of the cluster's nodes. It ignores the views of foreign nodes.
// It returns nil if the other views name no owner of any slot.
func (k *Kin) OfNodes(views []View) *Layout {
	chosen := choose(views, k.ids)
	l := merge(chosen)
	if l != nil {
		k.learn(chosen, l)
	}
	return l
}

// OfSeeds builds a layout from the views of seeds, for use when the views of the nodes are not enough.
// It prefers seeds of the client's cluster. If there are none, it accepts another cluster, but only if
// strangers is set or the client knows no whole cluster yet. Of several other clusters it takes the one
// with the most slots, then the one to which most seeds belong, then the one of the first seed. It
// returns nil if no slot has an owner. left is set if the layout is that of another cluster.
func (k *Kin) OfSeeds(nodes, seeds []View, strangers bool) (l *Layout, left bool) {
	views := append(choose(nodes, k.ids), seeds...)
	known := k.ids
	if !k.whole {
		known = nil
	}
	chosen := choose(views, known)
	if l = merge(chosen); l == nil && strangers {
		chosen = choose(seeds, nil)
		l = merge(chosen)
	}
	if l == nil {
		return nil, false
	}
	left = len(k.ids) > 0 && len(choose(chosen, k.ids)) == 0
	k.whole = k.whole && !left
	k.learn(chosen, l)
	return l, left
}

// learn remembers the nodes of the chosen views.
func (k *Kin) learn(chosen []View, l *Layout) {
	k.whole = k.whole || l.complete()
	k.ids, k.members = memory{}, map[string]bool{}
	for _, v := range chosen {
		maps.Copy(k.ids, v.living())
		maps.Copy(k.members, v.speaker().members)
	}
}

// choose returns the views of one cluster. Among several clusters it prefers the cluster with the
// most known nodes, then the one with the most slots, then the one with the most views, then the one
// of the first view.
func choose(views []View, known memory) (chosen []View) {
	all := make([]speaker, len(views))
	for i, v := range views {
		all[i] = v.speaker()
	}
	var best []int
	most := [3]int{-1}
	for _, group := range known.kin(all, together(all)) {
		var slots SlotSet
		for _, i := range group {
			views[i].addSlots(&slots)
		}
		if has := [3]int{known.shared(all, group), slots.len(), len(group)}; slices.Compare(has[:], most[:]) > 0 {
			best, most = group, has
		}
	}
	for _, i := range best {
		chosen = append(chosen, views[i])
	}
	return chosen
}
