package rediscluster

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
