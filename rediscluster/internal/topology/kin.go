package topology

import (
	"maps"
	"slices"
)

// speaker is a node of a cluster, or a sentinel, that reports the others that it knows.
type speaker struct {
	id string // its own ID; empty if that is not known
	// members are the IDs that it knows, including its own; nil if it reports none.
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

// together returns groups of speakers, as indices: two belong together if each knows the other. A
// speaker that does not report its own ID, or the IDs that it knows, counts as knowing all and as
// known. There is a group for each speaker that reports members, so the same group may occur several
// times; if none reports any, all speakers are one group.
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

// memory is the IDs of the nodes or sentinels that a client knows. The zero value is empty.
type memory map[string]bool

// shared returns how many of the IDs a group knows.
func (m memory) shared(all []speaker, group []int) (n int) {
	for id := range m {
		if slices.ContainsFunc(group, func(i int) bool { return all[i].members[id] }) {
			n++
		}
	}
	return n
}

// kin returns the groups that know most of the IDs in the memory, or all groups if it is empty. The
// address of a dead node may now lead to a foreign node, which knows none of these IDs, and a node that
// has joined other nodes is known only to them.
func (m memory) kin(all []speaker, groups [][]int) [][]int {
	return slices.DeleteFunc(slices.Clone(groups), func(group []int) bool { return len(m) > 0 && 2*m.shared(all, group) <= len(m) })
}

// Kin is a client's memory of its cluster.
type Kin struct {
	ids memory // of the nodes that had not failed
	// members are the IDs of all nodes. The map never changes; it is replaced.
	members map[string]bool
	// whole is set once all slots have had an owner. Before that the cluster may not be the intended
	// one, but for example a node that was given a few slots by mistake.
	whole bool
}

// Members returns the IDs of the nodes of the cluster, or none if they are not known. Don't modify the
// map.
func (k *Kin) Members() map[string]bool { return k.members }

// Whole reports whether the cluster has had all its slots.
func (k *Kin) Whole() bool { return k.whole }

// OfNodes builds a layout from the views of the cluster's nodes. It ignores the views of foreign nodes,
// and returns nil if the other views have no slots.
func (k *Kin) OfNodes(views []View) *Layout {
	chosen := choose(views, k.ids)
	l := merge(chosen)
	if l != nil {
		k.learn(chosen, l)
	}
	return l
}

// OfSeeds builds a layout from the views of seeds, if those of the nodes are not enough. It prefers
// seeds of the client's cluster. If there are none, it accepts another cluster if strangers is set, or
// if the client knows no whole cluster yet: the one with the most slots, then the one to which most
// seeds belong, then that of the first seed. It returns nil if no slot has an owner. left is set if the
// layout is that of another cluster.
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
