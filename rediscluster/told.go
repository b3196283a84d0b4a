package rediscluster

import (
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
)

// What servers tell of themselves: how their replication goes, which run it is, in which
// zone they are.

// What a replica says of its replication.
const (
	syncNever = iota // or unknown: not read from
	syncLost         // it has data, but no link to its master: read from if nobody else is there
	syncLive
)

// askSync asks a replica how its replication goes. done, if not nil, is called
// when it has answered.
func (n *node) askSync(conn *redisconn.Connection, done func()) {
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
	case notPermitted(err):
		return syncLive // a user who may not ask has to trust
	case err != nil:
		return syncNever
	case info["role"] == "master", info["master_link_status"] == "up":
		return syncLive
	case info["slave_repl_offset"] == "" || info["slave_repl_offset"] == "0" || info["master_sync_in_progress"] == "1":
		return syncNever
	}
	return syncLost
}

// outdated reports whether connections of a master without a cluster lead to another server
// than new ones would: to one that refuses writes, or that is not the one at the address by
// the layout, if it names one. New ones are not so for ReconnectPauseMax: an address that
// leads now here, now there costs a dial per pause.
func (n *node) outdated(server string) bool {
	if n.replica || n.c.sharded || time.Since(n.renewed) < n.c.opts.HostOpts.ReconnectPauseMax {
		return false
	}
	return n.refused.Load() || server != "" && slices.ContainsFunc(n.links, func(l *link) bool {
		id := l.server.Load()
		return id != nil && *id != server
	})
}

// askServer has the server that the connection leads to tell which one it is, and its
// zone, as far as that is of use. It does not wait.
func (l *link) askServer(conn *redisconn.Connection) {
	names := !l.node.replica && !l.node.c.sharded
	if !names && !l.node.asksZone() {
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
		if l.node.asksZone() {
			l.node.setZone(info["availability_zone"])
		}
	}), 0)
}

// setZone notes whether the node is in the caller's zone.
func (n *node) setZone(zone string) { n.local.Store(zone != "" && zone == n.c.opts.Zone) }

// learnZone takes the zone of the node that a layout tells, if it tells one and the user
// does not.
func (n *node) learnZone(zone string) {
	if zone != "" && n.c.opts.ZoneOf == nil {
		n.setZone(zone)
	}
}

// userZone is what Opts.ZoneOf says, empty if it is not set or does not return.
func (c *Cluster) userZone(addr string) (zone string) {
	if c.opts.ZoneOf == nil || c.opts.Zone == "" {
		return ""
	}
	c.call(func() { zone = c.opts.ZoneOf(addr) })
	return zone
}

// asksZone reports whether the node's server is to tell its zone: that is of use, and the
// user does not.
func (n *node) asksZone() bool { return n.c.opts.Zone != "" && n.c.opts.ZoneOf == nil }
