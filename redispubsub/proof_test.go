package redispubsub_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

// proofTime is how long faults go on: 2 s, or what $PUBSUB_TORTURE says.
func proofTime(t testing.TB) time.Duration {
	text := os.Getenv("PUBSUB_TORTURE")
	if text == "" {
		return 2 * time.Second
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return d
}

// number is a message of a channel: its number is its index among those of the channel.
type number struct {
	began, ended time.Time // of PUBLISH
	doubtful     bool      // PUBLISH has failed: it may have run, at any time
}

// publisher numbers the messages of one channel.
type publisher struct {
	sender  redis.Sender
	topic   redispubsub.Topic // by which it is subscribed
	channel string
	numbers []number
}

func (p *publisher) publish(ctx context.Context) bool {
	cmd := "PUBLISH"
	if p.topic.Kind == redispubsub.KindSharded {
		cmd = "SPUBLISH"
	}
	n := number{began: time.Now()}
	n.doubtful = redis.AsError(redis.SyncCtx{S: p.sender}.Do(ctx, cmd, p.channel, strconv.Itoa(len(p.numbers)))) != nil
	n.ended = time.Now()
	p.numbers = append(p.numbers, n)
	return !n.doubtful
}

// run publishes until ctx is done.
func (p *publisher) run(ctx context.Context) {
	for ctx.Err() == nil {
		p.publish(context.WithoutCancel(ctx))
		time.Sleep(rand.N(2 * time.Millisecond))
	}
}

// judge compares what was published with the events of a subscription: every missing
// number lies in a gap, none comes twice or out of order, and no gap stays open.
func (p *publisher) judge(t *testing.T, events []redispubsub.Event) (lost, gaps int) {
	last, seen := -1, map[int]bool{}
	var between []redispubsub.Gap // since the last message
	open := map[redispubsub.Reason]bool{}
	for _, ev := range events {
		switch ev := ev.(type) {
		case redispubsub.Gap:
			for _, topic := range ev.Topics {
				if topic == p.topic {
					between = append(between, ev)
					open[ev.Reason] = ev.Open()
					gaps++
				}
			}
		case redispubsub.Message:
			if ev.Channel != p.channel {
				continue
			}
			n, err := strconv.Atoi(string(ev.Payload))
			require.NoError(t, err)
			require.Less(t, n, len(p.numbers), "%s: never published", p.channel)
			require.False(t, seen[n], "%s: %d came twice", p.channel, n)
			seen[n] = true
			if p.numbers[n].doubtful {
				continue
			}
			require.Greater(t, n, last, "%s: out of order", p.channel)
			for missing := last + 1; missing < n; missing++ {
				if num := p.numbers[missing]; !num.doubtful && last >= 0 {
					lost++
					require.True(t, covered(num, between), "%s: %d is missing, published from %v to %v, and in no gap of %v",
						p.channel, missing, num.began, num.ended, between)
				}
			}
			last, between = n, nil
		}
	}
	require.Equal(t, len(p.numbers)-1, last, "%s: the last message", p.channel)
	for reason, isOpen := range open {
		require.False(t, isOpen, "%s: the gap for %v stays open", p.channel, reason)
	}
	return lost, gaps
}

// covered reports whether a missing number lies in one of the gaps, by time where the
// loss was on a socket.
func covered(n number, gaps []redispubsub.Gap) bool {
	for _, g := range gaps {
		if g.Reason != redispubsub.ConnectionLost || !n.ended.Before(g.From) && (g.Open() || !n.began.After(g.To)) {
			return true
		}
	}
	return false
}

// consumer collects the events of a subscription.
type consumer struct {
	mu     sync.Mutex
	events []redispubsub.Event
	last   map[string]string // payload by channel
}

// run takes events until the subscription is closed; slow has it rest now and then.
func (c *consumer) run(sub *redispubsub.Subscription, slow bool) {
	for ev, err := range sub.Events(context.Background()) {
		if err != nil {
			return
		}
		c.mu.Lock()
		c.events = append(c.events, ev)
		if msg, ok := ev.(redispubsub.Message); ok {
			c.last[msg.Channel] = string(msg.Payload)
		}
		c.mu.Unlock()
		if slow && rand.N(50) == 0 {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func (c *consumer) has(channel, payload string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last[channel] == payload
}

// prove publishes to all topics while faults happen, and judges what two consumers get,
// of which one is slow. heal ends all faults.
func prove(t *testing.T, s *redispubsub.Subscriber, pubs []*publisher, fault func(), heal func()) {
	var topics []redispubsub.Topic
	for _, p := range pubs {
		topics = append(topics, p.topic)
	}
	subs := []*redispubsub.Subscription{
		s.NewSubscription(redispubsub.SubscriptionOpts{Status: true}),
		s.NewSubscription(redispubsub.SubscriptionOpts{MaxMessages: 16}),
		s.NewSubscription(redispubsub.SubscriptionOpts{MaxMessages: 16, Policy: redispubsub.DropNewest}),
		s.NewSubscription(redispubsub.SubscriptionOpts{MaxMessages: 16, Policy: redispubsub.Block}),
	}
	consumers := make([]*consumer, len(subs))
	var consuming, publishing sync.WaitGroup
	for i, sub := range subs {
		require.NoError(t, sub.Subscribe(withPatience(t), topics...))
		consumers[i] = &consumer{last: map[string]string{}}
		consuming.Go(func() { consumers[i].run(sub, i > 0) })
	}
	ctx, stop := context.WithTimeout(t.Context(), proofTime(t))
	defer stop()
	for _, p := range pubs {
		publishing.Go(func() { p.run(ctx) })
	}
	for ctx.Err() == nil {
		fault()
		time.Sleep(rand.N(200 * time.Millisecond))
	}
	heal()
	publishing.Wait()
	for _, p := range pubs {
		for _, c := range consumers {
			require.Eventually(t, func() bool {
				return p.publish(t.Context()) && assertSoon(func() bool { return c.has(p.channel, strconv.Itoa(len(p.numbers)-1)) })
			}, patience, time.Millisecond, "%s is subscribed again", p.channel)
		}
	}
	for i, sub := range subs {
		for _, p := range pubs {
			require.Eventually(t, func() bool { return consumers[i].has(p.channel, strconv.Itoa(len(p.numbers)-1)) },
				patience, time.Millisecond)
		}
		sub.Close()
	}
	consuming.Wait()
	for i, c := range consumers {
		lost, gaps, all := 0, 0, 0
		for _, p := range pubs {
			l, g := p.judge(t, c.events)
			lost, gaps, all = lost+l, gaps+g, all+len(p.numbers)
		}
		t.Logf("consumer %d: of %d messages %d were lost, all in %d gaps", i, all, lost, gaps)
	}
}

// assertSoon waits a little for what may not come.
func assertSoon(f func() bool) bool {
	for range 100 {
		if f() {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// Whatever breaks between a server and a subscriber, and the server itself: what the
// subscriber misses lies in gaps.
func TestWhatIsMissedLiesInGaps(t *testing.T) {
	eachProtocol(t, func(t *testing.T, protocol int) {
		server := testbed.NewServer(t)
		proxy := testbed.NewProxy(t, server.Addr(), testbed.ProxyOpts{})
		opts := redisconn.Opts{Protocol: protocol, IOTimeout: 200 * time.Millisecond}
		direct := connect(t, server.Addr(), opts)
		s := newSubscriber(t, connect(t, proxy.Addr(), opts))
		pubs := []*publisher{{sender: direct, topic: redispubsub.Pattern("p*"), channel: "pattern"}}
		for i := range 4 {
			name := fmt.Sprint("channel", i)
			pubs = append(pubs, &publisher{sender: direct, topic: redispubsub.Channel(name), channel: name})
		}
		network := func(action testbed.ProxyAction, on testbed.ProxyDirection) func() {
			return func() {
				proxy.Arm(testbed.ProxyFault{Do: action, On: on, At: testbed.ProxyNow(), Interval: 50 * time.Millisecond, N: 7})
			}
		}
		faults := []func(){
			network(testbed.ProxyReset, testbed.ProxyReplies),
			network(testbed.ProxyCut, testbed.ProxyReplies),
			network(testbed.ProxyHalfClose, testbed.ProxyRequests),
			network(testbed.ProxySwallow, testbed.ProxyReplies),
			network(testbed.ProxySwallow, testbed.ProxyRequests),
			network(testbed.ProxyDelay, testbed.ProxyReplies),
			network(testbed.ProxySlice, testbed.ProxyReplies),
			proxy.Heal,
			func() {
				require.NoError(t, server.Pause())
				time.Sleep(rand.N(400 * time.Millisecond))
				require.NoError(t, server.Resume())
			},
			func() {
				require.NoError(t, server.Kill())
				require.NoError(t, server.Restart())
			},
			func() { server.Do("CLIENT KILL", "TYPE", "pubsub") },
		}
		prove(t, s, pubs, func() { faults[rand.N(len(faults))]() }, proxy.Heal)
	})
}

// Slots that move back and forth, and sockets that are killed.
func TestWhatIsMissedInAClusterLiesInGaps(t *testing.T) {
	testbed.Needs(t, testbed.Version(7, 0))
	eachProtocol(t, func(t *testing.T, protocol int) {
		bed := testbed.NewCluster(t)
		c := connectCluster(t, bed.Addrs(), protocol)
		s := newClusterSubscriber(t, c)
		// What is published on different nodes comes in any order, by the cluster's bus.
		node := connect(t, bed.Node(0).Addr(), redisconn.Opts{})
		pubs := []*publisher{
			{sender: node, topic: redispubsub.Channel("plain"), channel: "plain"},
			{sender: node, topic: redispubsub.Pattern("p[a]ttern"), channel: "pattern"},
		}
		var slots []int
		for i := range 4 {
			name := fmt.Sprint("sharded", i)
			pubs = append(pubs, &publisher{sender: c, topic: redispubsub.Sharded(name), channel: name})
			slot, err := bed.Slot(name)
			require.NoError(t, err)
			slots = append(slots, slot)
		}
		faults := []func(){
			func() {
				masters, err := bed.Masters()
				require.NoError(t, err)
				assert.NoError(t, bed.MoveSlot(slots[rand.N(len(slots))], masters[rand.N(len(masters))]))
			},
			func() {
				nodes := bed.Nodes()
				nodes[rand.N(len(nodes))].Do("CLIENT KILL", "TYPE", "pubsub")
			},
		}
		prove(t, s, pubs, func() { faults[rand.N(len(faults))]() }, func() {})
	})
}
