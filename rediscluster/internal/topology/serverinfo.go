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

// ServerInfo is a server's report about itself.
type ServerInfo struct {
	role string // empty if it is not known
	// id is the server's run_id. It shows whether two addresses are those of one server.
	id string
	// replid is the ID of the server's history, and end the offset at which the history ends. A replica
	// has the ID of its master.
	replid string
	end    int64
	// replid2 is the ID of an earlier history. The server's own history continues it and begins at
	// fork. A server has a replid2 after a promotion, and also after a restart from saved data; its
	// answers do not show which of the two happened.
	replid2 string
	fork    int64
	// restarted is set if the server is a master now and was a replica in an earlier run: it became a
	// master by a restart, not by a promotion.
	restarted bool
	// follows is set if the server is a replica that is connected to its master.
	follows bool
	// Err says why the server did not answer. The other fields are then those of its previous report.
	Err *errorx.Error
}

// The roles of servers in replication, spelled as in redisconn.Role.
const (
	roleMaster  = "master"
	roleReplica = "replica"
)

// ParseServerInfo makes a ServerInfo from the answers to ROLE, INFO replication and INFO server. role
// and refusal are the results of redisconn.ParseRole. The client's user may have no right to some of the
// commands; if ROLE is refused, INFO replication gives the role.
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

// After merges the report with was, the previous report from the same address. After a failure the
// previous report still counts.
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

// offset parses an offset in a history. It returns other if text is not a number.
func offset(text string, other int64) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return other
}

// continues reports whether the server was promoted and has everything that the other server has.
func (st ServerInfo) continues(other ServerInfo) bool {
	return !st.restarted && other.replid != "" && other.replid == st.replid2 && other.end < st.fork
}

// ServerInfos are the latest reports of the servers, by address.
type ServerInfos map[string]ServerInfo

// Layout builds a layout from the reports. If no server reports that it is the master, the present
// master stays, unless it has reported that it is a replica. stop is Opts.StopOnManyMasters.
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

// Refusal returns the type of the error with which all servers refuse the client permanently, or nil if
// a server does not refuse it.
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

// master decides which of several servers that report to be masters is the right one. It returns the
// address, or "" if no rule applies. The first of these rules that applies decides for a server:
//
//   - Most of the connected replicas have the server's history.
//   - The server was promoted and has all data of the others: each of their histories ends before
//     the point where the server's history branched off.
//   - The server is the present master, and stop is not set.
//
// If a server has several addresses, only the first one counts.
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

// followed returns the address of the master that more connected replicas follow than any other, or ""
// if two masters have equally many.
func (s ServerInfos) followed(masters []string) (addr string) {
	followers := make(map[string]map[string]struct{}) // by history; each replica counts once
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
