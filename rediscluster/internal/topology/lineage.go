package topology

import "maps"

// Lineage is what a client knows of its master without a cluster: the IDs of its history and of its run, and of
// the runs of the replicas that have followed it.
type Lineage struct{ ids map[string]bool }

// Has reports whether the server of an address is of the lineage: it has been the master, or has followed it, or
// goes on with its history, or one that did so follows it now. A server that tells nothing by which that can be
// known counts as one.
func (g *Lineage) Has(s ServerInfos, addr string) bool {
	st := s[addr]
	if len(g.ids) == 0 || st.replid == "" || g.ids[st.replid] || g.ids[st.replid2] || g.ids[st.id] {
		return true
	}
	for _, other := range s {
		if other.Err == nil && other.follows && other.replid == st.replid && g.ids[other.id] {
			return true
		}
	}
	return false
}

// Learn notes the lineage of the master of a layout, if that answers.
func (g *Lineage) Learn(s ServerInfos, l *Layout) {
	master := s[l.Shards[0].Master]
	if master.Err != nil || master.replid == "" {
		return
	}
	ids := map[string]bool{master.id: true, master.replid: true, master.replid2: true}
	for _, st := range s {
		if st.role == roleReplica && (st.replid == master.replid || g.ids[st.id]) {
			ids[st.id] = true
		}
	}
	for _, none := range []string{"", noHistory} {
		delete(ids, none)
	}
	g.ids = ids
}

// noHistory is what servers tell as the ID of the history that theirs continues, if there is none.
const noHistory = "0000000000000000000000000000000000000000"

// Leads reports whether the server of an address answers that it is a master.
func (s ServerInfos) Leads(addr string) bool { return s[addr].Err == nil && s[addr].role == roleMaster }

// Strangers returns the addresses of masters that are not of the lineage, in addition to the present one. There is
// none if the present one is not listed: then the list has led to others.
func (g *Lineage) Strangers(s ServerInfos, present string) (addrs []string) {
	if _, listed := s[present]; !listed {
		return nil
	}
	for addr := range s {
		if addr != present && s.Leads(addr) && !g.Has(s, addr) {
			addrs = append(addrs, addr)
		}
	}
	return addrs
}

// Without returns what all but some servers said.
func (s ServerInfos) Without(addrs []string) ServerInfos {
	others := maps.Clone(s)
	for _, addr := range addrs {
		delete(others, addr)
	}
	return others
}
