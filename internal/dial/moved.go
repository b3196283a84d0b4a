package dial

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// moved is the address to which a managed server has moved.
type moved struct {
	to    atomic.Pointer[Address]
	until atomic.Int64 // in nanoseconds since 1970; after this time, Config.Address leads to the new server
	// unannounced is set if the server has refused to announce maintenance. Then it is not asked again.
	unannounced atomic.Bool
}

// Move sets an address that the Dialer dials instead of its own, until the given time.
func (d *Dialer) Move(to Address, until time.Time) {
	d.moved.to.Store(&to)
	d.moved.until.Store(until.UnixNano())
}

// Follow makes d dial the address that from dials now.
func (d *Dialer) Follow(from *Dialer) {
	if to := from.moved.to.Load(); to != nil {
		d.Move(*to, time.Unix(0, from.moved.until.Load()))
	}
}

// failed records that no socket could be opened at an address. If the server has moved there, the Dialer dials its
// own address again, which may work.
func (m *moved) failed(at Address) {
	if to := m.to.Load(); to != nil && *to == at {
		m.until.Store(0)
	}
}

// address returns the address to dial now.
func (d *Dialer) address() Address {
	if to := d.moved.to.Load(); to != nil && time.Now().UnixNano() < d.moved.until.Load() {
		return *to
	}
	return d.Address
}

// OpenHearing is like Open, but also asks the server to announce maintenance on the socket. If to is not
// nil, OpenHearing dials that address.
func (d *Dialer) OpenHearing(ctx context.Context, to *Address) (*Socket, *errorx.Error) {
	o := opening{to: d.address(), pings: d.Integrity, hears: true}
	if to != nil {
		o.to = *to
	}
	return d.openGreeted(ctx, o)
}

// announce returns the request that makes a managed server announce maintenance on s. The request also
// chooses the kind of address in these announcements.
func (d *Dialer) announce(s *Socket) redis.Request {
	return redis.Req("CLIENT MAINT_NOTIFICATIONS", "ON", "moving-endpoint-type", d.endpointType(s))
}

// endpointType returns the kind of address that s uses, so that the new address is reachable in the same
// way. With a Dialer of the user it returns none, because only the Dialer knows how to reach the server.
// Then the server announces no address, and the client dials its own address again.
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
