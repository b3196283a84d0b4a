package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joomcode/errorx"
)

// ServerInfos are what servers said last, by their addresses.
type ServerInfos map[string]ServerInfo

// Layout makes a layout of them. If none says that it is the master, the present one
// stays the master, unless it has said that it is not. stop is Opts.StopOnManyMasters.
func (s ServerInfos) Layout(present string, stop bool) *Layout {
	var masters, replicas, said []string
	for _, addr := range slices.Sorted(maps.Keys(s)) {
		st := s[addr]
		switch {
		case st.role == roleMaster && st.Err == nil:
			masters = append(masters, addr)
		case st.role == roleReplica:
			replicas = append(replicas, addr)
		}
		if st.Err != nil {
			said = append(said, addr+": "+st.Err.Error())
		} else {
			said = append(said, fmt.Sprintf("%s: it is a %s", addr, st.role))
		}
	}
	if len(masters) == 0 && s[present].role == roleMaster {
		masters = append(masters, present)
	}
	master := s.master(masters, present, stop)
	l := group(master, replicas)
	switch {
	case master != "":
		if s[master].Err == nil {
			l.Server = s[master].id
		}
	case len(masters) > 0:
		l.Reason = ErrManyMasters.New("each of %s says that it is the master", strings.Join(masters, " and "))
	case len(said) == 0:
		l.Reason = ErrNoMaster.New("no address is known")
	default:
		l.Reason = ErrNoMaster.New("no server is a master: %s", strings.Join(said, "; "))
	}
	return l
}

// Refusal returns why all servers refuse the client for good, nil if some do not.
func (s ServerInfos) Refusal() (kind *errorx.Type) {
	for _, st := range s {
		cause := PermanentCause(st.Err)
		if cause == nil {
			return nil
		}
		kind = cause.Type()
	}
	return kind
}

// master returns which of several masters counts, empty if that is not known. The first
// of these rules that knows one decides:
//
//   - Most of the connected replicas have its history.
//   - It was promoted, and has all that the others have: their histories end before it
//     has left them.
//   - It is the present one, unless stop is set.
//
// An address of a server that has another one before it does not count.
func (s ServerInfos) master(masters []string, present string, stop bool) string {
	var distinct []string
	for _, addr := range masters {
		i := slices.IndexFunc(distinct, func(other string) bool { return s[addr].id != "" && s[addr].id == s[other].id })
		switch {
		case i < 0:
			distinct = append(distinct, addr)
		case addr == present:
			present = distinct[i]
		}
	}
	if addr := s.followed(distinct); addr != "" {
		return addr
	}
	for _, addr := range distinct {
		if !slices.ContainsFunc(distinct, func(other string) bool { return other != addr && !s[addr].continues(s[other]) }) {
			return addr
		}
	}
	if !stop && slices.Contains(distinct, present) {
		return present
	}
	return ""
}

// followed returns the master that more connected replicas follow than any other, empty
// if there is none.
func (s ServerInfos) followed(masters []string) (addr string) {
	followers := make(map[string]map[string]struct{}) // by histories, each replica once
	for at, st := range s {
		if st.Err == nil && st.follows && st.replid != "" {
			if followers[st.replid] == nil {
				followers[st.replid] = make(map[string]struct{})
			}
			followers[st.replid][cmp.Or(st.id, at)] = struct{}{}
		}
	}
	most := 0
	for _, master := range masters {
		switch n := len(followers[s[master].replid]); {
		case n > most:
			addr, most = master, n
		case n == most:
			addr = ""
		}
	}
	return addr
}
