package topology

import (
	"maps"
	"slices"
)

// speaker is a node of a cluster, or a sentinel, that tells which others it knows.
type speaker struct {
	id string // its own ID; empty if that is not known
	// members are the IDs that it knows, its own included; nil if it tells none.
	members map[string]bool
}

// know adds one that the speaker knows, which is itself if own is set.
func (s *speaker) know(id string, own bool) {
	if s.members == nil {
		s.members = map[string]bool{}
	}
	s.members[id] = true
	if own {
		s.id = id
	}
}

// together returns the groups that speakers form, as indices: two are together if each knows the
// other. One that does not tell its own ID, or those that it knows, is taken to know all, and to be
// known. There is a group for each speaker that tells members, so the same group may come several
// times; if none tells any, all speakers are one group.
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

// memory is the IDs of those that a client belongs to. Empty, it knows nobody.
type memory map[string]bool

// shared returns how many of the IDs the members of a group know.
func (m memory) shared(all []speaker, group []int) (n int) {
	for id := range m {
		if slices.ContainsFunc(group, func(i int) bool { return all[i].members[id] }) {
			n++
		}
	}
	return n
}

// kin returns those of the groups that know most of the IDs in the memory; all groups if it is empty.
// At an address of one that is gone there may be a stranger by now, which knows none of them, and one
// that has gone over to strangers is known to them alone.
func (m memory) kin(all []speaker, groups [][]int) [][]int {
	return slices.DeleteFunc(slices.Clone(groups), func(group []int) bool { return len(m) > 0 && 2*m.shared(all, group) <= len(m) })
}

// Kin is what a client remembers of the cluster that it belongs to.
type Kin struct {
	ids memory // of the nodes that had not failed
	// members are the IDs of all nodes. The map never changes: another one takes its place.
	members map[string]bool
	// whole is set if all slots were served at least once. Before that the cluster may be none that
	// anybody meant, such as a node that was given a few slots by mistake.
	whole bool
}

// Members returns the IDs of the nodes of the cluster, none if they are not known. It must not be changed.
func (k *Kin) Members() map[string]bool { return k.members }

// Whole reports whether the cluster has had all its slots.
func (k *Kin) Whole() bool { return k.whole }

// OfNodes makes a layout of what the nodes of the cluster say. It returns nil if those that the client
// knows say nothing of slots. Views of strangers do not count.
func (k *Kin) OfNodes(views []View) *Layout {
	chosen := choose(views, k.ids)
	l := merge(chosen)
	if l != nil {
		k.learn(chosen, l)
	}
	return l
}

// OfSeeds makes a layout of what seeds say, if the nodes do not say enough. Seeds that belong to the
// same cluster are preferred. If there are none, those of another cluster count if strangers is set, or if the
// client knows no whole cluster yet: of several, the one with the most slots, then the one for which
// most of the seeds speak, then that of the first seed. It returns nil if none of the slots is served.
// left is set if the layout is that of another cluster.
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
	k.whole = k.whole || l.whole()
	k.ids, k.members = memory{}, map[string]bool{}
	for _, v := range chosen {
		maps.Copy(k.ids, v.living())
		maps.Copy(k.members, v.speaker().members)
	}
}

// choose returns the views of one cluster: of one that most of the known nodes belong to, if any are
// known, else of any. Of several, the one counts with the most of the known nodes, then with the most
// slots, then with the most views, then that of the first view.
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
