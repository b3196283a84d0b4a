package redispubsub_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// fakeNodes is a cluster for tests. All topics belong to one of its masters, which the test chooses.
type fakeNodes struct {
	*redisconn.Connection // for Ctx
	backend.NodesHolder

	mu                sync.Mutex // guards the fields below
	at                *redisconn.Connection
	masters, replicas []*redisconn.Connection
	changed           chan struct{}

	reloads atomic.Int64
}

func newFakeNodes(masters ...*redisconn.Connection) *fakeNodes {
	n := &fakeNodes{Connection: masters[0], at: masters[0], masters: masters, changed: make(chan struct{})}
	n.NodesHolder = backend.HolderOf(seen{nil, n})
	return n
}

// change replaces the masters. All topics then belong to the first one.
func (n *fakeNodes) change(masters ...*redisconn.Connection) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.at, n.masters = nil, masters
	if len(masters) > 0 {
		n.at = masters[0]
	}
	close(n.changed)
	n.changed = make(chan struct{})
}

func (n *fakeNodes) ForceReloading() { n.reloads.Add(1) }

// seen is fakeNodes in the form that the package under test gets.
type seen struct {
	send.Backend[redis.Future] // nil, because a subscriber sends nothing through the cluster
	*fakeNodes
}

var _ backend.Nodes = seen{}

func (n seen) Master(int) backend.Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.at == nil {
		return nil
	}
	return n.at
}

func (n seen) Publisher(int) backend.Node { return n.Master(0) }

func (n seen) MovedTo(backend.Node, string) backend.Node { return nil }

func (n seen) All() (masters, replicas []backend.Node, since time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return asNodes(n.masters), asNodes(n.replicas), time.Time{}
}

func (n seen) Changed() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.changed
}

func asNodes(conns []*redisconn.Connection) (nodes []backend.Node) {
	for _, conn := range conns {
		nodes = append(nodes, conn)
	}
	return nodes
}

func newFakeSubscriber(t testing.TB, nodes *fakeNodes) *redispubsub.Subscriber {
	t.Helper()
	return silentSubscriber[redispubsub.Nodes](t, redispubsub.NewCluster, nodes)
}

// untilSubscribed returns the events up to the next Subscribed.
func untilSubscribed(t testing.TB, sub *redispubsub.Subscription) (before []redispubsub.Event) {
	t.Helper()
	for {
		ev := take(t, sub, 1)[0]
		if _, ok := ev.(redispubsub.Subscribed); ok {
			return before
		}
		before = append(before, ev)
	}
}

// lastGap returns the last gap among events. All gaps must have the given reason, and the last must be
// closed.
func lastGap(t testing.TB, events []redispubsub.Event, reason redispubsub.Reason) (last redispubsub.Gap) {
	t.Helper()
	for _, ev := range events {
		if gap, ok := ev.(redispubsub.Gap); ok {
			require.Equal(t, reason, gap.Reason)
			last = gap
		}
	}
	require.False(t, last.To.IsZero(), "%v", events)
	return last
}

// hold holds back all bytes that a server sends, until heal is called.
func hold(proxy *chaos.Proxy) (heal func()) {
	proxy.Arm(chaos.Fault{Do: chaos.Delay, On: chaos.Replies, At: chaos.Now(), Interval: time.Hour})
	return proxy.Heal
}

func payload(t testing.TB, ev redispubsub.Event) string {
	t.Helper()
	msg, ok := ev.(redispubsub.Message)
	require.True(t, ok, "%T", ev)
	return string(msg.Payload)
}

// If a topic returns to a node, the subscriber drops messages that this node sent earlier, because newer
// messages of the other node were already delivered.
func TestAReturnToANodeBringsNothingOld(t *testing.T) {
	t.Parallel()
	testbed.Needs(t, testbed.Version(7, 0))
	eachProtocol(t, func(t *testing.T, protocol int) {
		first, second := testbed.NewServer(t), testbed.NewServer(t)
		proxy := chaos.NewProxy(t, first.Addr(), chaos.ProxyOpts{})
		opts := redisconn.Opts{Protocol: protocol, IOTimeout: time.Hour}
		one, other := connect(t, proxy.Addr(), opts), connect(t, second.Addr(), opts)
		nodes := newFakeNodes(one, other)
		s := newFakeSubscriber(t, nodes)
		sub := s.NewSubscription(redispubsub.SubscriptionOpts{Status: true})
		require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Sharded("a")))
		untilSubscribed(t, sub)

		direct := connect(t, first.Addr(), redisconn.Opts{})
		heal := hold(proxy)
		publish(t, direct, "SPUBLISH", "a", "1") // held back on its way
		nodes.change(other, one)
		require.Eventually(t, func() bool {
			res, _ := redis.Sync{S: other}.Do("PUBSUB SHARDNUMSUB", "a").([]any)
			return len(res) == 2 && res[1] == int64(1)
		}, patience, time.Millisecond)
		nodes.change(one, other)
		second.Do("CLIENT KILL", "TYPE", "pubsub") // this server has no slots, so it never unsubscribes the topic itself
		require.Eventually(t, func() bool { return len(s.Stats().Sockets) == 1 }, patience, time.Millisecond)
		heal()
		lastGap(t, untilSubscribed(t, sub), redispubsub.SlotMoved)
		publish(t, direct, "SPUBLISH", "a", "3")
		assert.Equal(t, "3", payload(t, take(t, sub, 1)[0]))
	})
}

// A cluster closes the connections to a server that is no longer a master. The reason of the gap is
// the failover, even if the subscriber notices the end of the socket before the change.
func TestAFailoverIsNoLostConnection(t *testing.T) {
	t.Parallel()
	next := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{})
	master := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{})
	nodes := newFakeNodes(next, master)
	nodes.at = master
	sub := newFakeSubscriber(t, nodes).NewSubscription(redispubsub.SubscriptionOpts{Status: true})
	require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("a")))
	untilSubscribed(t, sub)

	nodes.mu.Lock() // changes the nodes without a signal that they have changed
	nodes.at, nodes.masters = next, []*redisconn.Connection{next}
	nodes.mu.Unlock()
	master.Close()
	lastGap(t, untilSubscribed(t, sub), redispubsub.Failover)
}

// If the new node of a channel was stopped for a while, it afterwards reads old messages from the cluster
// bus. The subscriber may have got these messages from the old node, and must not deliver them again.
func TestANewNodeBringsNothingOld(t *testing.T) {
	t.Parallel()
	eachProtocol(t, func(t *testing.T, protocol int) {
		first, second := testbed.NewServer(t), testbed.NewServer(t)
		proxy := chaos.NewProxy(t, second.Addr(), chaos.ProxyOpts{})
		opts := redisconn.Opts{Protocol: protocol, IOTimeout: time.Hour}
		one, other := connect(t, first.Addr(), opts), connect(t, proxy.Addr(), opts)
		nodes := newFakeNodes(other, one)
		s := newFakeSubscriber(t, nodes)
		// Open the socket to the other node first, so that the proxy holds back no handshake.
		idle := s.NewSubscription(redispubsub.SubscriptionOpts{})
		require.NoError(t, idle.Subscribe(withPatience(t), redispubsub.Channel("idle")))
		nodes.change(one, other)
		sub := s.NewSubscription(redispubsub.SubscriptionOpts{Status: true})
		topic := redispubsub.Channel("a")
		require.NoError(t, sub.Subscribe(withPatience(t), topic))
		untilSubscribed(t, sub)
		publish(t, one, "PUBLISH", "a", "1")
		assert.Equal(t, "1", payload(t, take(t, sub, 1)[0]))

		heal := hold(proxy)
		nodes.change(other)
		direct := connect(t, second.Addr(), redisconn.Opts{})
		require.Eventually(t, func() bool {
			res, _ := redis.Sync{S: direct}.Do("PUBSUB NUMSUB", "a").([]any)
			return len(res) == 2 && res[1] == int64(1)
		}, patience, time.Millisecond)
		publish(t, direct, "PUBLISH", "a", "1") // takes the place of a message from the bus
		heal()
		gap := lastGap(t, untilSubscribed(t, sub), redispubsub.Failover)
		assert.Equal(t, []redispubsub.Topic{topic}, gap.Topics)
		publish(t, direct, "PUBLISH", "a", "2")
		assert.Equal(t, "2", payload(t, take(t, sub, 1)[0]))
	})
}
