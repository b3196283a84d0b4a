package redisvirtual

import (
	"context"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/inner"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
)

// errSender: virtual connections need what only the senders of this library have.
var errSender = redis.ErrOpts.NewType("virtual_sender")

// servers is where the requests of virtual connections go.
type servers struct {
	sender wire.Inner[redis.Future]
	// conn is nil if there are several servers.
	conn   *redisconn.Connection
	shared inner.Conn // of conn
	nodes  inner.Nodes
	ctx    context.Context
	// protocol and db are those of the shared sockets.
	protocol, db int
	hooks        []hook // around the sender, the outermost first
}

// hook is a hook around the sender.
type hook interface {
	Observe(a wire.Ask, kind redis.OperationKind, reqs []redis.Request) (end func(res any, at wire.Place))
}

// serversOf returns the servers of a sender.
func serversOf(s redis.Sender) (to *servers, err error) {
	s, hooks := inside(s)
	switch s := s.(type) {
	case *redisconn.Connection:
		to = serverOf(s)
	case *rediscluster.Cluster:
		to, err = clusterOf(s.Inner(wire.Ask{Held: s}), inner.NodesOf(s), s.Ctx())
	case rediscluster.PolicyMan:
		to, err = clusterOf(s.Inner(wire.Ask{Held: s}), inner.NodesOf(s), s.Ctx())
	default:
		err = errSender.New("a %T has no virtual connections: give the connection, cluster or client inside", s)
	}
	if err != nil {
		return nil, err
	}
	to.hooks = hooks
	return to, nil
}

// inside returns the sender that handles stand for, and hooks are around.
func inside(s redis.Sender) (_ redis.Sender, hooks []hook) {
	for {
		var within redis.Sender
		switch asked := s.(type) {
		case interface{ Delegate(wire.Ask) redis.Sender }:
			within = asked.Delegate(wire.Ask{Held: s})
		case interface {
			hook
			Inside(wire.Ask) redis.Sender
		}:
			if within = asked.Inside(wire.Ask{Held: s}); within != nil {
				hooks = append(hooks, asked)
			}
		}
		if within == nil {
			return s, hooks
		}
		s = within
	}
}

func serverOf(conn *redisconn.Connection) *servers {
	shared := inner.Of(conn)
	s := &servers{sender: shared, conn: conn, shared: shared, ctx: conn.Ctx()}
	s.greeting(shared.Dialer())
	return s
}

func clusterOf(sender wire.Inner[redis.Future], nodes inner.Nodes, ctx context.Context) (*servers, error) {
	s := &servers{sender: sender, nodes: nodes, ctx: ctx}
	dialer, err := s.dialer()
	if err != nil {
		return nil, err
	}
	s.greeting(dialer)
	return s, nil
}

func (s *servers) greeting(d *dial.Dialer) { s.protocol, s.db = max(d.Protocol, 2), d.DB }

// several reports whether requests are routed by their keys.
func (s *servers) several() bool { return s.conn == nil }

// at returns the node with an address, or nil.
func (s *servers) at(addr string) *servers {
	masters, replicas, _ := s.nodes.All()
	for _, nodes := range [][]inner.Node{masters, replicas} {
		for _, node := range nodes {
			if node.Addr() == addr {
				to := serverOf(node.(*redisconn.Connection))
				to.hooks = s.hooks
				return to
			}
		}
	}
	s.nodes.ForceReloading()
	return nil
}

// dialer returns what dials a socket as the shared ones are: to the server, or to a master.
func (s *servers) dialer() (*dial.Dialer, error) {
	if s.conn != nil {
		return s.shared.Dialer(), nil
	}
	masters, _, _ := s.nodes.All()
	if len(masters) == 0 {
		return nil, errSender.New("no master is known")
	}
	return inner.Of(masters[0].(*redisconn.Connection)).Dialer(), nil
}

// address returns the addresses of the shared socket, empty ones if there is none.
func (s *servers) address() (local, remote addr) {
	if s.several() {
		return "", ""
	}
	if remote = addr(s.conn.RemoteAddr()); remote == "" {
		remote = addr(s.conn.Addr())
	}
	return addr(s.conn.LocalAddr()), remote
}

// addr is an address of the shared socket.
type addr string

// Network implements net.Addr.
func (addr) Network() string { return "redispipe" }

// String implements net.Addr.
func (a addr) String() string { return string(a) }
