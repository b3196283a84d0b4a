package rediscluster

import (
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
)

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
