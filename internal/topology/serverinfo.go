package topology

import (
	"math"
	"strconv"

	"github.com/joomcode/errorx"

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
