package redisdumb

import (
	"net"

	"github.com/joomcode/redispipe/redis"
)

// maxHops is the greatest number of redirects that a request follows. A sane cluster needs
// one MOVED and one ASK; more means that nodes disagree.
const maxHops = 5

// redirect follows MOVED and ASK from the node at addr: send makes an attempt
// on a connection to the node that the last result named.
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

// sameHost returns the address that a redirect names. If that has no host, it means the host that answered.
// It reports false if the address is malformed, or there is no host, because the answer came over a unix socket.
func sameHost(answered, addr string) (string, bool) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host != "" {
		return addr, err == nil
	}
	network, _, host := parseAddr(answered)
	return net.JoinHostPort(host, port), network == "tcp"
}
