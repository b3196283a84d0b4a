package rediscluster

import (
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
)

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

// askZone has the node tell its zone, if that is of use and nobody else does. It does
// not wait.
func (n *node) askZone(conn *redisconn.Connection) {
	if n.c.opts.Zone == "" || n.c.opts.ZoneOf != nil {
		return
	}
	conn.Send(redis.Req("INFO", "server"), wire.Own(func(res any, _ uint64) {
		if info, err := redisclusterutil.ParseInfo(res); err == nil {
			n.setZone(info["availability_zone"])
		}
	}), 0)
}
