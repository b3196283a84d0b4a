package rediscluster

import (
	"fmt"
	"maps"
	"slices"
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
	// replid is that of its history, and replid2 that of the one it was promoted from.
	replid, replid2 string
	err             *errorx.Error
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
	return standing{role: role, id: server["run_id"], replid: replication["master_replid"], replid2: replication["master_replid2"]}
}

// standings are what servers said last, by their addresses.
type standings map[string]standing

// layout makes a layout of them. If none says that it is the master, the present one
// stays the master, unless it has said that it is not.
func (s standings) layout(present string) *layout {
	var masters, replicas, said []string
	for _, addr := range slices.Sorted(maps.Keys(s)) {
		st := s[addr]
		switch {
		case st.role == redisconn.RoleMaster && (st.err == nil || addr == present):
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
	master, found := s.newest(masters)
	l := groupLayout(master, replicas)
	switch {
	case found:
		return l
	case len(masters) > 0:
		return l.because(ErrManyMasters.New("each of %s says that it is the master", strings.Join(masters, " and ")))
	case len(said) == 0:
		return l.because(ErrNoMaster.New("no address is known"))
	}
	return l.because(ErrNoMaster.New("no server is a master: %s", strings.Join(said, "; ")))
}

// newest returns the master that all others yield to: see NewReplicated. One that can't
// be reached yields to one that answers.
func (s standings) newest(masters []string) (addr string, found bool) {
	for _, addr := range masters {
		newest := s[addr]
		if !slices.ContainsFunc(masters, func(other string) bool {
			return other != addr && !s[other].yieldsTo(newest, addr < other)
		}) {
			return addr, true
		}
	}
	return "", false
}

// yieldsTo reports whether another master is newer. Of two addresses of one server the
// first counts.
func (st standing) yieldsTo(other standing, first bool) bool {
	switch {
	case st.id != "" && st.id == other.id:
		return first
	case st.err != nil && other.err == nil:
		return true
	}
	return st.replid != "" && st.replid == other.replid2
}
