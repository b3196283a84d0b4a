package redisdumb

import (
	"net"

	"github.com/joomcode/redispipe/redis"
)

// maxHops is the greatest number of redirects that a request follows. A sane cluster needs
// one MOVED and one ASK; more means that nodes disagree.
const maxHops = 5

// redirect follows MOVED and ASK. res is the result from the node at addr. For each redirect, redirect calls
// send with a connection to the node that the redirect names.
func (c *Conn) redirect(addr string, res any, send func(to *Conn, ask bool) any) any {
	for hop := 0; hop < maxHops; hop++ {
		next, ask, ok := movedTo(res)
		if !ok {
			break
		}
		next, ok = sameHost(addr, next)
		if !ok {
			break
		}
		to := &Conn{Addr: next, Timeout: c.Timeout, TLSEnabled: c.TLSEnabled, TLSConfig: c.TLSConfig}
		res = send(to, ask)
		to.Close()
		addr = next
	}
	return res
}

// movedTo returns the address in a MOVED or ASK, which may be the cause of an aborted transaction.
func movedTo(res any) (addr string, ask, ok bool) {
	err := redis.AsErrorx(res)
	if err != nil && err.IsOfType(redis.ErrExecAbort) {
		err = redis.AsErrorx(err.Cause())
	}
	if err == nil || !(err.IsOfType(redis.ErrMoved) || err.IsOfType(redis.ErrAsk)) {
		return "", false, false
	}
	to, _ := err.Property(redis.EKMovedTo)
	addr, ok = to.(string)
	return addr, err.IsOfType(redis.ErrAsk), ok && addr != ""
}

// sameHost returns the address that a redirect names. An address without a host means the host of answered,
// the address of the node that answered. sameHost returns false if the address is malformed, or if answered
// is a unix socket, which has no host.
func sameHost(answered, addr string) (string, bool) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host != "" {
		return addr, err == nil
	}
	network, _, host := parseAddr(answered)
	return net.JoinHostPort(host, port), network == "tcp"
}
