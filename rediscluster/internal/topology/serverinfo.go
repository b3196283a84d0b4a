package topology

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// ServerInfo is what a server says of itself.
type ServerInfo struct {
	role string // empty if it is not known
	// id is that of the run: the same server may have several addresses.
	id string
	// replid is that of the server's history, up to end. Replicas have their master's.
	replid string
	end    int64
	// replid2 is the id of the history that the server's own one, which begins at fork,
	// continues. A server has a replid2 after a promotion and after a restart from saved
	// data; its answers do not show which of the two happened.
	replid2 string
	fork    int64
	// restarted is set if it is a master, and was a replica in a run before. Nobody has
	// promoted it then.
	restarted bool
	// follows is set if it is a replica that is connected to its master.
	follows bool
	// Err is why it can't be asked. The rest is what it said before.
	Err *errorx.Error
}

// The roles of servers in replication, by the words of redisconn.Role.
const (
	roleMaster  = "master"
	roleReplica = "replica"
)

// ParseServerInfo makes it of what redisconn.ParseRole makes of the server's answer to ROLE,
// and of its answers to INFO replication, which has the role, too, and INFO server. A user
// may have no right to all of them.
func ParseServerInfo(role string, refusal error, replicationInfo, serverInfo any) ServerInfo {
	replication, _ := redisclusterutil.ParseInfo(replicationInfo)
	if refusal != nil {
		switch replication["role"] {
		case "master":
			role = roleMaster
		case "slave":
			role = roleReplica
		default:
			return ServerInfo{Err: redis.AsErrorx(refusal)}
		}
	}
	server, _ := redisclusterutil.ParseInfo(serverInfo)
	return ServerInfo{
		role: role, id: server["run_id"],
		replid: replication["master_replid"], end: offset(replication["master_repl_offset"], math.MaxInt64),
		replid2: replication["master_replid2"], fork: offset(replication["second_repl_offset"], 0),
		follows: role == roleReplica && replication["master_link_status"] == "up",
	}
}

// After returns what is known of the server after what it said before at the same address:
// if it has failed, that still counts.
func (st ServerInfo) After(was ServerInfo) ServerInfo {
	if st.Err != nil {
		was.Err = st.Err
		return was
	}
	if st.role == roleMaster && st.id != "" && was.id != "" {
		st.restarted = was.restarted || was.role == roleReplica && was.id != st.id
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

// continues reports whether the server was promoted, and has all that another has.
func (st ServerInfo) continues(other ServerInfo) bool {
	return !st.restarted && other.replid != "" && other.replid == st.replid2 && other.end < st.fork
}

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
	l := oneShard(master, replicas)
	switch {
	case master != "":
		if s[master].Err == nil {
			l.Server = s[master].id
		}
	case len(masters) > 0:
		l.Reason = ErrManyMasters.New("each of %s reports that it is the master", strings.Join(masters, " and "))
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
		cause := errs.PermanentCause(st.Err)
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
//   - It was promoted, and has all that the others have: each of their histories ends before
//     the point at which its own has left it.
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
