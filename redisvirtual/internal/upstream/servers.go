package upstream

import (
	"context"
	"net"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/prefix"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual/internal/replies"
)

// errSender: a sender is not a connection, cluster or client of this library.
var errSender = redis.ErrOpts.NewType("virtual_sender")

// Servers are the servers behind virtual connections. It is read-only.
type Servers struct {
	replies.Terms
	Sender send.Backend[redis.Future]
	Shared backend.Conn // the shared connection; nil if there are several servers
	Ctx    context.Context
	DB     int  // the database of the shared sockets
	TLS    bool // whether the shared sockets use TLS
	// ReadOnly: the server is a replica of a cluster, and READONLY was sent on its shared socket.
	ReadOnly bool
	// Sharded: the keys are spread over several masters.
	Sharded bool

	conn  *redisconn.Connection // nil if there are several servers
	nodes backend.Cluster       // nil if there is one server
}

// Of returns the servers of a sender.
func Of(sender redis.Sender) (s *Servers, err error) {
	var hooks []replies.Hook
	inmost := backend.Inside(sender, func(s redis.Sender, _ func(redis.Sender) redis.Sender) {
		if hook, ok := s.(replies.Hook); ok { // other layers, such as retries, are left out, because the other client retries itself
			hooks = append(hooks, hook)
		}
	})
	inmost, added := unprefix(inmost)
	inner := send.BackendOf[redis.Future](inmost)
	cluster, isCluster := inner.(backend.Cluster)
	life, lives := inmost.(interface{ Ctx() context.Context })
	switch conn, single := inmost.(*redisconn.Connection); {
	case inner != nil && single:
		s = ofConnection(conn)
	case isCluster && lives:
		s, err = ofCluster(cluster, life.Ctx())
	default: // also for a nil pointer
		err = errSender.New("%s is not a connection, cluster or Client: pass the one inside it", send.Describe(inmost))
	}
	if err != nil {
		return nil, err
	}
	s.Hooks, s.Prefix = hooks, added
	return s, nil
}

// unprefix returns the sender inside those of redis.WithPrefix, and their prefix. Hooks and retries are around
// them.
func unprefix(s redis.Sender) (inmost redis.Sender, added prefix.Prefix) {
	for {
		layer, is := s.(interface {
			Unprefix() (inner redis.Sender, text string)
		})
		if !is {
			return s, added
		}
		inner, text := layer.Unprefix()
		s, added = inner, prefix.Prefix(text)+added
	}
}

func ofConnection(conn *redisconn.Connection) *Servers {
	shared := backend.Of(conn)
	s := &Servers{Sender: shared, Shared: shared, Ctx: conn.Ctx(), conn: conn}
	s.greeting(shared.Dialer())
	return s
}

func ofCluster(nodes backend.Cluster, ctx context.Context) (*Servers, error) {
	s := &Servers{Terms: replies.Terms{Several: true}, Sender: nodes, Ctx: ctx, Sharded: nodes.Sharded(), nodes: nodes}
	node, err := s.Node()
	if err != nil {
		return nil, err
	}
	s.greeting(node.Dialer())
	return s, nil
}

func (s *Servers) greeting(d *dial.Dialer) { s.Protocol, s.DB, s.TLS = max(d.Protocol, 2), d.DB, d.TLS }

// At returns the node with an address, or nil. If there is only one server, At returns it for every address.
func (s *Servers) At(addr string) *Servers {
	if !s.Several {
		return s
	}
	masters, replicas, _ := s.nodes.All()
	for _, nodes := range [][]backend.Node{masters, replicas} {
		for _, node := range nodes {
			if node.Addr() == addr {
				to := ofConnection(node.(*redisconn.Connection))
				to.Hooks, to.Prefix, to.ReadOnly = s.Hooks, s.Prefix, to.Shared.Dialer().ReadOnly
				return to
			}
		}
	}
	s.nodes.ForceReloading()
	return nil
}

// Node returns the connection to the server, or a connection to any master. A client's separate socket is
// dialed like the sockets of that connection.
func (s *Servers) Node() (backend.Conn, error) {
	if !s.Several {
		return s.Shared, nil
	}
	masters, _, _ := s.nodes.All()
	if len(masters) == 0 {
		return nil, errSender.New("no master is known")
	}
	return backend.Of(masters[0].(*redisconn.Connection)), nil
}

// Addrs returns the addresses of the shared socket, or empty ones if there is none.
func (s *Servers) Addrs() (local, remote net.Addr) {
	if s.Several {
		return addr(""), addr("")
	}
	at := s.conn.RemoteAddr()
	if at == "" {
		at = s.conn.Addr()
	}
	return addr(s.conn.LocalAddr()), addr(at)
}

// addr is an address of the shared socket.
type addr string

// Network implements net.Addr.
func (addr) Network() string { return "redispipe" }

// String implements net.Addr.
func (a addr) String() string { return string(a) }
