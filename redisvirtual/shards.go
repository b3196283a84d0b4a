package redisvirtual

import (
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
)

// onShards sends a request that concerns every master of a cluster to all of them, and waits for the
// answers. No other request of the client is in flight then.
func (c *conn) onShards(r *send.Request) (done bool) {
	switch {
	case c.watching:
		c.answer(proto.AppendError(nil, everyMaster(c.to.OnShards(r))))
		return true
	case !c.served:
		return false
	}
	f := c.stream.NewFlight()
	*f.Add() = *r
	if f.Push() {
		f.Resolve(c.to.DoOnShards(c.stream.Context(), &f.Reqs[0]), 0)
		f.End(0, nil)
	}
	return true
}

// everyMaster returns why a command can't be part of a transaction.
func everyMaster(name string) string {
	return "ERR " + name + " concerns every master, and a transaction runs on one"
}
