package topology

import "maps"

// Lineage is a client's memory of a master that is in no cluster. It holds the IDs of the master's
// history and run, and of the runs of the replicas that have followed it.
type Lineage struct{ ids map[string]bool }

// Has reports whether the server at addr is related to the remembered master: it was that master,
// followed it, or continues its history, or now has a replica that followed it. A server that does not
// report its history counts as related.
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

// Learn records the lineage of the master of a layout, if the master answers.
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

// noHistory is the ID that servers report as master_replid2 if their history does not continue another.
const noHistory = "0000000000000000000000000000000000000000"

// Leads reports whether the server at addr answers, and reports that it is a master.
func (s ServerInfos) Leads(addr string) bool { return s[addr].Err == nil && s[addr].role == roleMaster }

// Strangers returns the addresses of masters that are unrelated to the present master. It returns none
// if the present master is not listed, because then the list has changed.
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

// Without returns the reports of all servers except those at addrs.
func (s ServerInfos) Without(addrs []string) ServerInfos {
	others := maps.Clone(s)
	for _, addr := range addrs {
		delete(others, addr)
	}
	return others
}
