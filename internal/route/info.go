package route

import (
	"slices"
	"strings"
	"time"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
)

// What servers tell by INFO: how their replication goes, which run of the server it is, in
// which zone they are.

// What a replica says of its replication.
const (
	syncNever = iota // or unknown: not read from
	syncLost         // it has data, but no link to its master: read from if nobody else is there
	syncLive
)

// askSync asks a replica how its replication goes. done, if not nil, is called
// when it has answered.
func (n *Node) askSync(conn *redisconn.Connection, done func()) {
	conn.Send(redis.Req("INFO", "replication"), wire.Own(func(res any, _ uint64) {
		n.sync.Store(syncState(res))
		if done != nil {
			done()
		}
	}), 0)
}

// syncState takes apart the answer to INFO replication.
func syncState(res any) int32 {
	info, err := redisclusterutil.ParseInfo(res)
	switch {
	case NotPermitted(err):
		return syncLive // nothing is known of it, as the user may not ask
	case err != nil:
		return syncNever
	case info["role"] == "master", info["master_link_status"] == "up":
		return syncLive
	case info["slave_repl_offset"] == "" || info["slave_repl_offset"] == "0" || info["master_sync_in_progress"] == "1":
		return syncNever
	}
	return syncLost
}

// NotPermitted reports whether a server says that the user has no right to a command or
// a key.
func NotPermitted(err error) bool {
	failure := redis.AsErrorx(err)
	return failure != nil && strings.HasPrefix(failure.Message(), "NOPERM")
}

// Outdated reports whether the connections to a master without a cluster are to be replaced,
// since new ones would lead to another server: a write was refused on one of them, or it leads
// to another run of the server than the one that the layout names. New connections are kept for
// RenewPause at the least, so that an address which leads to different servers in turn costs
// one dial in each pause.
func (n *Node) Outdated(server string) bool {
	if n.Replica || n.rules.Sharded || time.Since(n.Renewed) < n.rules.RenewPause {
		return false
	}
	return n.Refused.Load() || server != "" && slices.ContainsFunc(n.Links, func(l *Link) bool {
		id := l.server.Load()
		return id != nil && *id != server
	})
}

// askServer has the server that the connection leads to tell which run it is, and its
// zone, as far as that is of use. It does not wait.
func (l *Link) askServer(conn *redisconn.Connection) {
	rules := l.Node.rules
	names := !l.Node.Replica && !rules.Sharded
	if !names && !rules.AsksZone {
		return
	}
	conn.Send(redis.Req("INFO", "server"), wire.Own(func(res any, _ uint64) {
		info, err := redisclusterutil.ParseInfo(res)
		if err != nil {
			return
		}
		if id := info["run_id"]; names && id != "" {
			l.server.Store(&id)
		}
		if rules.AsksZone {
			l.Node.setZone(info["availability_zone"])
		}
	}), 0)
}

// setZone notes whether the node is in the caller's zone.
func (n *Node) setZone(zone string) { n.Local.Store(zone != "" && zone == n.rules.Zone) }

// LearnZone takes the zone of the node that a layout tells, if it tells one and the user
// does not.
func (n *Node) LearnZone(zone string) {
	if zone != "" && n.rules.AsksZone {
		n.setZone(zone)
	}
}
