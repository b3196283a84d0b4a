package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"time"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// serverPubSub is one server behind a proxy.
type serverPubSub struct {
	rnd    *rand.Rand
	server *testbed.Server
	proxy  *chaos.Proxy
	conns  []*redisconn.Connection
}

func newServerPubSub(rnd *rand.Rand) (pubSubStage, error) {
	server, err := testbed.Start(testbed.Options{})
	if err != nil {
		return nil, err
	}
	proxy, err := chaos.ListenProxy(server.Addr(), chaos.ProxyOpts{Seed: rnd.Int63()})
	if err != nil {
		server.Close()
		return nil, err
	}
	return &serverPubSub{rnd: rnd, server: server, proxy: proxy}, nil
}

func (s *serverPubSub) begin(protocol int) (*redispubsub.Subscriber, []*publisher, error) {
	for _, addr := range []string{s.server.Addr(), s.proxy.Addr()} {
		conn, err := redisconn.Connect(context.Background(), addr, pubSubConn(protocol))
		if err != nil {
			return nil, nil, err
		}
		s.conns = append(s.conns, conn)
	}
	direct := s.conns[0]
	pubs := []*publisher{{sender: direct, topic: redispubsub.Pattern("p*"), channel: "pattern"}}
	for i := range 4 {
		name := fmt.Sprint("channel", i)
		pubs = append(pubs, &publisher{sender: direct, topic: redispubsub.Channel(name), channel: name})
	}
	sub, err := redispubsub.New(s.conns[1], redispubsub.Opts{Logger: redispubsub.NoopLogger{}})
	return sub, pubs, err
}

// proxyFaults are faults of the network.
var proxyFaults = []chaos.Fault{
	{Do: chaos.Reset, On: chaos.Replies},
	{Do: chaos.Cut, On: chaos.Replies},
	{Do: chaos.HalfClose, On: chaos.Requests},
	{Do: chaos.Swallow, On: chaos.Replies},
	{Do: chaos.Swallow, On: chaos.Requests},
	{Do: chaos.Delay, On: chaos.Replies, Interval: 50 * time.Millisecond},
	{Do: chaos.Slice, On: chaos.Replies, N: 7},
}

func (s *serverPubSub) fault(ctx context.Context) (kind string, err error) {
	switch n := s.rnd.Intn(len(proxyFaults) + 4); n {
	case 0:
		s.proxy.Heal()
		return "heal", nil
	case 1:
		lasting := time.Duration(s.rnd.Int63n(int64(500 * time.Millisecond)))
		return "freeze", meanwhile(ctx, lasting, s.server.Pause, s.server.Resume)
	case 2:
		return "kill", errors.Join(s.server.Kill(), s.server.Restart())
	case 3:
		s.server.Do("CLIENT KILL", "TYPE", "pubsub")
		return "kill sockets", nil
	default:
		f := proxyFaults[n-4]
		f.At = chaos.Now()
		s.proxy.Arm(f)
		return string(f.Do), nil
	}
}

func (s *serverPubSub) heal() []interval {
	s.proxy.Heal()
	return nil
}

func (s *serverPubSub) end() {
	for _, conn := range s.conns {
		conn.Close()
	}
	s.conns = nil
}

func (s *serverPubSub) close() {
	s.proxy.Close()
	s.server.Close()
}
