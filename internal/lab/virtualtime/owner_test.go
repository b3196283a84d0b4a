package virtualtime

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// pipes is a listener whose connections are pipes.
type pipes struct {
	addr   string
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once // closes closed
}

func newPipes(addr string) *pipes {
	return &pipes{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// dial is an Opts.Dialer.
func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr  { return p }
func (p *pipes) Network() string { return "tcp" }
func (p *pipes) String() string  { return p.addr }

// eachProtocol runs a test with RESP2 and RESP3, each with its own fake clock.
func eachProtocol(t *testing.T, test func(t *testing.T, protocol int)) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) {
			Run(t, func(t *testing.T) { test(t, protocol) })
		})
	}
}

// owner is a node that confirms and gives up sharded channels when the test tells it to.
type owner struct {
	t       testing.TB
	head    string // the head of a push
	server  *chaos.ScriptedServer
	conn    *redisconn.Connection
	asked   chan string // commands; each waits for an answer
	answers chan string
	sock    chan *chaos.ScriptedConn // the connection on which the last command came
	last    *chaos.ScriptedConn
}

func newOwner(t testing.TB, protocol int, timeout time.Duration) *owner {
	l := newPipes(fmt.Sprintf("10.0.0.%d:6379", owners.Add(1)))
	o := &owner{
		t: t, head: map[int]string{2: "*", 3: ">"}[protocol],
		asked: make(chan string), answers: make(chan string), sock: make(chan *chaos.ScriptedConn, 1),
	}
	o.server = chaos.NewScripted(t, chaos.ScriptedOpts{Listener: l, Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		select {
		case o.asked <- r.Cmd:
		case <-c.Done():
			return nil
		}
		select {
		case answer := <-o.answers:
			_, err := c.Write([]byte(answer))
			o.sock <- c
			return err
		case <-c.Done():
			return nil
		}
	}})
	conn, err := redisconn.Connect(t.Context(), o.server.Addr(), redisconn.Opts{
		Dialer: l.dial, Protocol: protocol, IOTimeout: timeout, Logger: redisconn.NoopLogger{},
	})
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	o.conn = conn
	return o
}

// owners counts all owners, so that each gets its own address.
var owners atomic.Int64

// expects waits for the command cmd.
func (o *owner) expects(cmd string) {
	o.t.Helper()
	require.Equal(o.t, cmd, <-o.asked)
}

// answer answers the waiting command.
func (o *owner) answer(answer string) {
	o.answers <- answer
	o.last = <-o.sock
}

// takes confirms the next subscription.
func (o *owner) takes() {
	o.t.Helper()
	o.expects("SSUBSCRIBE")
	o.answer(o.push("ssubscribe", ":1\r\n"))
}

// givesUp unsubscribes the channel, like a master that learns of a new owner.
func (o *owner) givesUp() { o.sends(o.push("sunsubscribe", ":0\r\n")) }

func (o *owner) publishes(payload string) { o.sends(o.push("smessage", chaos.ScriptedBulk(payload))) }

func (o *owner) sends(push string) {
	o.t.Helper()
	_, err := o.last.Write([]byte(push))
	require.NoError(o.t, err)
}

func (o *owner) push(kind, rest string) string {
	return fmt.Sprintf("%s3\r\n%s%s%s", o.head, chaos.ScriptedBulk(kind), chaos.ScriptedBulk("a"), rest)
}

// movingNodes has all topics on one of its masters, which the test chooses.
type movingNodes struct {
	*redisconn.Connection // only Ctx is used
	backend.NodesHolder

	mu      sync.Mutex // guards the fields below
	masters []backend.Node
	changed chan struct{}
	reloads int
}

func newMovingNodes(first, second *owner) *movingNodes {
	n := &movingNodes{Connection: first.conn, changed: make(chan struct{})}
	n.NodesHolder = backend.HolderOf(seenNodes{nil, n})
	n.change(first, second)
	return n
}

// change puts all topics on the node first. The other master is second.
func (n *movingNodes) change(first, second *owner) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.masters = []backend.Node{first.conn, second.conn}
	close(n.changed)
	n.changed = make(chan struct{})
}

func (n *movingNodes) ForceReloading() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reloads++
}

// seenNodes is movingNodes as package redispubsub sees it.
type seenNodes struct {
	send.Backend[redis.Future] // nil, because nothing is sent
	*movingNodes
}

var _ backend.Nodes = seenNodes{}

func (n seenNodes) Master(int) backend.Node {
	masters, _, _ := n.All()
	return masters[0]
}

func (n seenNodes) Publisher(int) backend.Node                { return n.Master(0) }
func (n seenNodes) MovedTo(backend.Node, string) backend.Node { return nil }

func (n seenNodes) All() (masters, replicas []backend.Node, since time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.masters), nil, time.Time{}
}

func (n seenNodes) Changed() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

func newMovingSubscriber(t testing.TB, nodes *movingNodes) *redispubsub.Subscriber {
	t.Helper()
	s, err := redispubsub.NewCluster(nodes, redispubsub.Opts{Logger: redispubsub.NoopLogger{}})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// take returns the next event.
func take(t testing.TB, sub *redispubsub.Subscription) redispubsub.Event {
	t.Helper()
	for ev, err := range sub.Events(t.Context()) {
		require.NoError(t, err)
		return ev
	}
	require.Fail(t, "no event")
	return nil
}

// payload returns the payload of the next event, which must be a message.
func payload(t testing.TB, sub *redispubsub.Subscription) string {
	t.Helper()
	ev := take(t, sub)
	msg, ok := ev.(redispubsub.Message)
	require.True(t, ok, "%T", ev)
	return string(msg.Payload)
}
