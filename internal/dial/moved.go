package dial

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// moved is where a managed server has moved to.
type moved struct {
	to    atomic.Pointer[Address]
	until atomic.Int64 // in nanoseconds; from then on, Config.Address leads there
	// unannounced: the server has refused to announce maintenance, so it is not asked again.
	unannounced atomic.Bool
}

// Move makes the Dialer dial another address until the given time.
func (d *Dialer) Move(to Address, until time.Time) {
	d.moved.to.Store(&to)
	d.moved.until.Store(until.UnixNano())
}

// address returns where to dial now.
func (d *Dialer) address() Address {
	if to := d.moved.to.Load(); to != nil && time.Now().UnixNano() < d.moved.until.Load() {
		return *to
	}
	return d.Address
}

// OpenHearing is Open for a socket on which the server is to announce maintenance, if it can. It dials to, if that
// is not nil.
func (d *Dialer) OpenHearing(ctx context.Context, to *Address) (*Socket, *errorx.Error) {
	o := opening{to: d.address(), pings: d.Integrity, hears: true}
	if to != nil {
		o.to = *to
	}
	return d.openGreeted(ctx, o)
}

// announce returns the request after which a managed server announces maintenance on s, and with that the kind of
// address to which it moves.
func (d *Dialer) announce(s *Socket) redis.Request {
	return redis.Req("CLIENT MAINT_NOTIFICATIONS", "ON", "moving-endpoint-type", d.endpointType(s))
}

// endpointType returns the kind of address that leads to a server in the same way as the address of s. It is none if
// only the user's own Dialer knows the way: then the server names no address, and the client dials its own again.
func (d *Dialer) endpointType(s *Socket) string {
	remote, ok := s.RemoteAddr().(*net.TCPAddr)
	if !ok || d.Config.Dialer != nil {
		return "none"
	}
	from := "external-"
	if remote.IP.IsPrivate() || remote.IP.IsLoopback() || remote.IP.IsLinkLocalUnicast() {
		from = "internal-"
	}
	if s.Secured() {
		return from + "fqdn"
	}
	return from + "ip"
}

// checkAnnounced accepts any error, as checkName does: only managed servers have the command.
func (d *Dialer) checkAnnounced(res any) *errorx.Error {
	d.moved.unannounced.Store(redis.AsErrorx(res) != nil)
	return checkName(res)
}
