package rediscluster

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
)

// standing is what a server says of itself.
type standing struct {
	role redisconn.Role
	// id is that of the run: the same server may have several addresses.
	id string
	// replid is that of the server's history, up to end. Replicas have their master's.
	replid string
	end    int64
	// replid2 is that of the history that the server has continued: its own begins at
	// fork. This is so when it was promoted, and when it was restarted from what it had
	// saved: nothing that it says tells the one from the other.
	replid2 string
	fork    int64
	// restarted is set if it is a master, and was a replica in a run before. Nobody has
	// promoted it then.
	restarted bool
	// follows is set if it is a replica that is connected to its master.
	follows bool
	err     *errorx.Error
}

// parseStanding takes the answers to ROLE, INFO replication and INFO server apart. A user
// may have no right to all of them.
func parseStanding(answers []any) (st standing) {
	role, err := redisconn.ParseRole(answers[0])
	replication, infoErr := redisclusterutil.ParseInfo(answers[1])
	if err != nil && infoErr == nil {
		switch replication["role"] {
		case "master":
			role, err = redisconn.RoleMaster, nil
		case "slave":
			role, err = redisconn.RoleReplica, nil
		}
	}
	if err != nil {
		return standing{err: redis.AsErrorx(err)}
	}
	server, _ := redisclusterutil.ParseInfo(answers[2])
	return standing{
		role: role, id: server["run_id"],
		replid: replication["master_replid"], end: offset(replication["master_repl_offset"], math.MaxInt64),
		replid2: replication["master_replid2"], fork: offset(replication["second_repl_offset"], 0),
		follows: role == redisconn.RoleReplica && replication["master_link_status"] == "up",
	}
}

// after returns the standing with what follows from the one before at the same address.
func (st standing) after(was standing) standing {
	if st.role == redisconn.RoleMaster && st.id != "" && was.id != "" {
		st.restarted = was.restarted || was.role == redisconn.RoleReplica && was.id != st.id
	}
	return st
}

// offset returns a place in a history, other if it is not told.
func offset(text string, other int64) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return other
}

// standings are what servers said last, by their addresses.
type standings map[string]standing

// layout makes a layout of them. If none says that it is the master, the present one
// stays the master, unless it has said that it is not. stop is Opts.StopOnManyMasters.
func (s standings) layout(present string, stop bool) *layout {
	var masters, replicas, said []string
	for _, addr := range slices.Sorted(maps.Keys(s)) {
		st := s[addr]
		switch {
		case st.role == redisconn.RoleMaster && st.err == nil:
			masters = append(masters, addr)
		case st.role == redisconn.RoleReplica:
			replicas = append(replicas, addr)
		}
		if st.err != nil {
			said = append(said, addr+": "+st.err.Error())
		} else {
			said = append(said, fmt.Sprintf("%s: it is a %s", addr, st.role))
		}
	}
	if len(masters) == 0 && s[present].role == redisconn.RoleMaster {
		masters = append(masters, present)
	}
	master := s.master(masters, present, stop)
	l := groupLayout(master, replicas)
	switch {
	case master != "" && s[master].err == nil:
		l.server = s[master].id
		return l
	case master != "":
		return l
	case len(masters) > 0:
		return l.because(ErrManyMasters.New("each of %s says that it is the master", strings.Join(masters, " and ")))
	case len(said) == 0:
		return l.because(ErrNoMaster.New("no address is known"))
	}
	return l.because(ErrNoMaster.New("no server is a master: %s", strings.Join(said, "; ")))
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
func (s standings) master(masters []string, present string, stop bool) string {
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
func (s standings) followed(masters []string) (addr string) {
	followers := make(map[string]map[string]struct{}) // by histories, each replica once
	for at, st := range s {
		if st.err == nil && st.follows && st.replid != "" {
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

// continues reports whether the server was promoted, and has all that another has.
func (st standing) continues(other standing) bool {
	return !st.restarted && other.replid != "" && other.replid == st.replid2 && other.end < st.fork
}
