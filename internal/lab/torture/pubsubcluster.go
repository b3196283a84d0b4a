package torture

import (
	"context"
	"fmt"
	"math/rand"
	"time"

	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

// clusterPubSub is a cluster of three masters and three replicas.
type clusterPubSub struct {
	rnd     *rand.Rand
	nodes   *testbed.Cluster
	clients []*rediscluster.Cluster
	// sharded are the slots of the sharded channels that may move.
	sharded []int
	excuses []interval
}

func newClusterPubSub(rnd *rand.Rand) (pubSubStage, error) {
	nodes, err := testbed.StartCluster(testbed.ClusterOptions{NodeTimeout: nodeTimeout})
	if err != nil {
		return nil, err
	}
	return &clusterPubSub{rnd: rnd, nodes: nodes}, nil
}

func (s *clusterPubSub) begin(protocol int) (*redispubsub.Subscriber, []*publisher, error) {
	for range 2 { // one client publishes and one subscribes
		client, err := setUp(func() (*rediscluster.Cluster, error) {
			return rediscluster.NewCluster(context.Background(), s.nodes.Addrs(), rediscluster.Opts{
				HostOpts: pubSubConn(protocol), Logger: rediscluster.NoopLogger{},
			})
		})
		if err != nil {
			return nil, nil, err
		}
		s.clients = append(s.clients, client)
	}
	var pubs []*publisher
	add := func(topic redispubsub.Topic, channel string) {
		pubs = append(pubs, &publisher{sender: s.clients[0], topic: topic, channel: channel})
	}
	s.sharded, s.excuses = nil, nil
	for _, tag := range []string{"{a}", "{b}", "{c}"} { // at first each is at another master
		add(redispubsub.Channel(tag+"plain"), tag+"plain")
		for i := range 2 {
			name := fmt.Sprint(tag, "sharded", i)
			add(redispubsub.Sharded(name), name)
		}
		slot, err := s.nodes.Slot(tag)
		if err != nil {
			return nil, nil, err
		}
		s.sharded = append(s.sharded, slot)
	}
	add(redispubsub.Pattern("p[a]ttern"), "pattern")
	sub, err := redispubsub.NewCluster(s.clients[1], redispubsub.Opts{Logger: redispubsub.NoopLogger{}})
	return sub, pubs, err
}

// fault makes one random fault, and returns when all nodes agree again.
func (s *clusterPubSub) fault(ctx context.Context) (kind string, err error) {
	masters, err := s.nodes.Masters()
	if err != nil {
		return "", err
	}
	master := masters[s.rnd.Intn(len(masters))]
	replicas, err := s.nodes.Replicas(master)
	if err != nil || len(replicas) == 0 {
		return "", err
	}
	replica := replicas[s.rnd.Intn(len(replicas))]
	lasting := time.Duration(s.rnd.Int63n(int64(3 * nodeTimeout)))
	began := time.Now()
	switch s.rnd.Intn(7) {
	case 0, 1:
		kind, err = "failover", s.nodes.Failover(replica, testbed.Graceful)
	case 2:
		kind, err = "kill master", meanwhile(ctx, lasting, master.Kill, master.Restart)
		s.excuse(began)
	case 3:
		kind, err = "freeze master", meanwhile(ctx, lasting, master.Pause, master.Resume)
		s.excuse(began)
	case 4:
		kind = "kill sockets"
		master.Do("CLIENT KILL", "TYPE", "pubsub")
	default:
		kind = "move slot"
		err = s.nodes.MoveSlot(s.sharded[s.rnd.Intn(len(s.sharded))], master)
	}
	if err == nil {
		err = s.nodes.WaitAgreed()
	}
	return kind, err
}

// busLag is how late nodes may pass messages on, because kernels delay acknowledgments.
const busLag = 100 * time.Millisecond

// excuse allows servers to lose messages that they pass on to each other. A killed node has
// confirmed messages that it has not passed on. A stopped node and the other nodes close the links
// between them, and lose the messages that wait there.
func (s *clusterPubSub) excuse(began time.Time) {
	s.excuses = append(s.excuses, interval{began.Add(-busLag), time.Now().Add(nodeTimeout)})
}

func (s *clusterPubSub) heal() []interval { return s.excuses }

func (s *clusterPubSub) end() {
	for _, client := range s.clients {
		client.Close()
	}
	s.clients = nil
}

func (s *clusterPubSub) close() { s.nodes.Close() }
