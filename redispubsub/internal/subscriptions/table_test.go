package subscriptions

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/internal/push"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
)

// place is a node that consists of its address.
type place string

func (p place) Addr() string                                 { return string(p) }
func (place) OpenPush(context.Context) (*push.Socket, error) { return nil, errors.New("no socket") }

// places is a set of masters. All topics belong to the first one.
type places struct {
	backend.Nodes // nil, because the table sends nothing
	masters       []backend.Node
	since         time.Time
	changed       chan struct{}
	reloads       int
}

func (p *places) Master(int) backend.Node {
	if len(p.masters) == 0 {
		return nil
	}
	return p.masters[0]
}

func (p *places) Publisher(int) backend.Node { return p.Master(0) }

func (p *places) MovedTo(from backend.Node, addr string) backend.Node {
	if from != backend.Node(place(addr)) && slices.Contains(p.masters, backend.Node(place(addr))) {
		return place(addr)
	}
	return nil
}

func (p *places) All() (masters, replicas []backend.Node, since time.Time) {
	return p.masters, nil, p.since
}

func (p *places) Changed() <-chan struct{} { return p.changed }
func (p *places) ForceReloading()          { p.reloads++ }

// change replaces the masters. All topics then belong to the first one.
func (p *places) change(masters ...backend.Node) {
	p.masters = masters
	p.changed = make(chan struct{})
}

// play is a table under test, in virtual time. The test plays the servers behind its feeds.
type play struct {
	*testing.T
	nodes *places
	table *Table
	set   *Set
	feeds map[string]*Feed // by address
	fence map[string]string
}

func played(t *testing.T, on NodeSet, test func(p *play)) {
	synctest.Test(t, func(t *testing.T) {
		p := &play{T: t, nodes: &places{}, feeds: map[string]*Feed{}, fence: map[string]string{}}
		p.nodes.change(place("one"), place("two"))
		p.table = New(t.Context(), p.nodes, true, make(chan struct{}, 1), func(f *Feed) {
			p.feeds[f.Node.Addr()] = f
			f.Connected(&push.Socket{})
		})
		p.set = p.table.NewSet(inbox.New(inbox.Opts{MaxMessages: 8, MaxBytes: 1 << 20}, &inbox.Counts{}), on)
		test(p)
	})
}

// asks expects that the table now sends one command to each of the given nodes, and none to others.
func (p *play) asks(cmd string, addrs ...string) {
	p.Helper()
	var asked []string
	for sock, reqs := range p.table.Asks() {
		for addr, f := range p.feeds {
			if f.sock == sock {
				asked = append(asked, addr)
				require.Len(p, reqs, 2, "%v", reqs)
				require.Equal(p, cmd, reqs[0].Cmd)
				p.fence[addr] = reqs[1].Args[0].(string)
			}
		}
	}
	assert.ElementsMatch(p, addrs, asked)
}

// says plays a node that confirms that a topic was subscribed or unsubscribed.
func (p *play) says(addr string, typ pubsub.NoticeType, t pubsub.Topic) {
	p.Helper()
	require.NoError(p, p.feeds[addr].Confirmed(pubsub.Notice{Type: typ, Kind: t.Kind, Name: []byte(t.Name)}, time.Now()))
}

// answers plays a node that answers the PING behind the command.
func (p *play) answers(addr string) {
	p.Helper()
	require.NoError(p, p.feeds[addr].Answer([]byte(p.fence[addr])))
}

// live reports whether a member takes the messages of a topic from a node.
func (p *play) live(addr string, t pubsub.Topic) bool {
	members, _, err := p.feeds[addr].Members(t.Kind, []byte(t.Name))
	return err == nil && len(members) > 0
}

func (p *play) add(topics ...pubsub.Topic) []*Answer {
	p.Helper()
	answers, err := p.set.Add(topics)
	require.NoError(p, err)
	return answers
}

func done(answers []*Answer) bool {
	for _, a := range answers {
		select {
		case <-a.Done:
		default:
			return false
		}
	}
	return true
}

var (
	news = pubsub.Topic{Kind: pubsub.Channel, Name: "news"}
	room = pubsub.Topic{Kind: pubsub.Sharded, Name: "room"}
)

// The table subscribes a topic once, and unsubscribes it when the last set has removed it.
func TestTable(t *testing.T) {
	played(t, OneNode, func(p *play) {
		call := p.add(news)
		p.asks("SUBSCRIBE", "one")
		p.asks("SUBSCRIBE")
		assert.Error(p, p.feeds["one"].Confirmed(pubsub.Notice{Type: pubsub.Subscribed, Kind: pubsub.Channel, Name: []byte("other")}, time.Now()))
		p.says("one", pubsub.Subscribed, news)
		assert.True(p, done(call))
		assert.Equal(p, "one", call[0].Addr)
		p.answers("one")
		assert.True(p, p.live("one", news))
		assert.True(p, done(p.add(news)), "it is subscribed")

		left, addr := p.set.Remove([]pubsub.Topic{news})
		require.Len(p, left, 1)
		assert.Equal(p, "one", addr)
		p.asks("UNSUBSCRIBE", "one")
		assert.False(p, p.live("one", news))
		p.says("one", pubsub.Unsubscribed, news)
		p.answers("one")
		<-left[0]
		assert.Error(p, p.feeds["one"].Ctx.Err(), "it has no topics")
		assert.Empty(p, p.table.Feeds())
	})
}

// If a busy server refuses to unsubscribe a topic, the table asks again later, unless a set has added the
// topic again.
func TestUnsubscribingFromABusyServer(t *testing.T) {
	for _, again := range []bool{false, true} {
		played(t, OneNode, func(p *play) {
			p.add(news)
			p.asks("SUBSCRIBE", "one")
			p.says("one", pubsub.Subscribed, news)
			p.answers("one")
			p.set.Remove([]pubsub.Topic{news})
			p.asks("UNSUBSCRIBE", "one")
			require.NoError(p, p.feeds["one"].Answer(redis.ErrBusy.New("BUSY")))
			p.answers("one")
			p.asks("UNSUBSCRIBE") // no node yet: the table does not ask a busy server again at once
			cmd, said := "UNSUBSCRIBE", pubsub.Unsubscribed
			if again {
				p.add(news)
				cmd, said = "SUBSCRIBE", pubsub.Subscribed
			}
			p.nodes.change(place("two"), place("one"))
			time.Sleep(delayFirst)
			p.table.Place(false)
			p.asks(cmd, "one")
			p.says("one", said, news)
			p.answers("one")
			assert.Equal(p, again, p.live("one", news))
			p.asks("SUBSCRIBE")
		})
	}
}

// If the server refuses one of several topics in a command, only that topic is removed.
func TestARefusedTopic(t *testing.T) {
	played(t, OneNode, func(p *play) {
		other := pubsub.Topic{Kind: pubsub.Channel, Name: "other"}
		call := p.add(news, other)
		p.asks("SUBSCRIBE", "one")
		require.NoError(p, p.feeds["one"].Answer(redis.ErrResult.New("NOPERM")))
		p.answers("one")
		var fences []string
		for _, reqs := range p.table.Asks() { // a command for each topic
			require.Len(p, reqs, 4)
			for i := 0; i < len(reqs); i += 2 {
				fences = append(fences, reqs[i].Args[0].(string), reqs[i+1].Args[0].(string))
			}
		}
		for i := 0; i < len(fences); i += 2 {
			if fences[i] == "news" {
				p.says("one", pubsub.Subscribed, news)
			} else {
				require.NoError(p, p.feeds["one"].Answer(redis.ErrResult.New("NOPERM")))
			}
			require.NoError(p, p.feeds["one"].Answer([]byte(fences[i+1])))
		}
		assert.True(p, done(call))
		assert.NoError(p, call[0].Err)
		assert.Error(p, call[1].Err)
		assert.Equal(p, []pubsub.Topic{news}, p.set.Topics())

		third := pubsub.Topic{Kind: pubsub.Channel, Name: "third"}
		p.add(third)
		p.asks("SUBSCRIBE", "one")
		p.says("one", pubsub.Subscribed, third)
		p.answers("one")
		one := p.feeds["one"]
		one.Lost(errors.New("broken"))
		one.Connected(&push.Socket{})
		p.asks("SUBSCRIBE", "one") // one command for all topics again
	})
}

// If the server unsubscribes a topic by itself and refuses it for a temporary reason, the gap contains the
// server's answer, unless that is only a redirect.
func TestTheGapOfARefusedTopic(t *testing.T) {
	for _, refusal := range []*errorx.Error{
		redis.ErrClusterDown.New("CLUSTERDOWN"),
		redis.ErrMoved.New("MOVED 1 two").WithProperty(redis.EKMovedTo, "two"),
	} {
		played(t, OneNode, func(p *play) {
			p.add(room)
			p.asks("SSUBSCRIBE", "one")
			p.says("one", pubsub.Subscribed, room)
			p.answers("one")
			one := p.feeds["one"]
			p.says("one", pubsub.Unsubscribed, room)
			p.asks("SSUBSCRIBE", "one")
			require.NoError(p, one.Answer(refusal))
			p.answers("one")
			ev, _ := p.set.Inbox.Next()
			gap, isGap := ev.(*inbox.Gap)
			require.True(p, isGap, "%v", ev)
			if refusal.IsOfType(redis.ErrClusterDown) {
				assert.Equal(p, refusal, gap.Err)
			} else {
				assert.NoError(p, gap.Err)
			}
		})
	}
}

// Messages of a moved sharded channel are delivered as soon as the new node has confirmed the channel and
// the old node has unsubscribed it.
func TestAChannelMoves(t *testing.T) {
	played(t, OneNode, func(p *play) {
		time.Sleep(time.Second) // the nodes have been known for long
		p.add(room)
		p.asks("SSUBSCRIBE", "one")
		p.says("one", pubsub.Subscribed, room)
		p.answers("one")
		p.nodes.change(place("two"), place("one"))
		assert.Equal(p, backend.BusLag, p.table.Place(true), "the new node is not asked yet")
		p.asks("SSUBSCRIBE")
		time.Sleep(backend.BusLag)
		p.table.Place(false)
		p.asks("SSUBSCRIBE", "two")
		p.says("two", pubsub.Subscribed, room)
		p.answers("two")
		counts := p.feeds["two"].topics[room].members[0]
		intake := func() inbox.Outcome {
			return counts.Intake.Offer(p.feeds["two"].sock, "message", 1, time.Now())
		}
		assert.Equal(p, inbox.Dropped, intake())
		p.says("one", pubsub.Unsubscribed, room)
		assert.Equal(p, inbox.Taken, intake())
		assert.Error(p, p.feeds["one"].Ctx.Err())
	})
}

// While no node is known, the table tries to place a topic again and again, with growing pauses.
func TestNoNode(t *testing.T) {
	played(t, OneNode, func(p *play) {
		p.nodes.change()
		call := p.add(news)
		var waits []time.Duration
		for range 8 {
			p.table.Place(false)
			wait := p.table.Place(false) // as after a signal on toPlace
			waits = append(waits, wait/time.Millisecond)
			time.Sleep(wait)
		}
		assert.Equal(p, []time.Duration{10, 20, 40, 80, 160, 320, 500, 500}, waits)
		assert.Equal(p, 1, p.table.Unplaced())
		assert.Equal(p, 8, p.nodes.reloads)
		assert.False(p, done(call))
		p.nodes.change(place("one"))
		p.table.Place(false)
		p.asks("SUBSCRIBE", "one")
	})
}

// A set that is on all masters follows them.
func TestFollow(t *testing.T) {
	played(t, AllMasters, func(p *play) {
		call := p.add(news)
		p.asks("SUBSCRIBE", "one", "two")
		for _, addr := range []string{"one", "two"} {
			assert.False(p, done(call))
			p.says(addr, pubsub.Subscribed, news)
			p.answers(addr)
		}
		assert.True(p, done(call))
		p.nodes.change(place("two"), place("three"))
		p.table.Place(true)
		three := p.feeds["three"]
		require.NotNil(p, three)
		for sock, reqs := range p.table.Asks() {
			switch sock {
			case p.feeds["one"].sock:
				assert.Equal(p, "UNSUBSCRIBE", reqs[0].Cmd)
			case three.sock:
				assert.Equal(p, "SUBSCRIBE", reqs[0].Cmd)
			default:
				assert.Fail(p, "another node is asked")
			}
		}
		p.nodes.change()
		_, err := p.set.Add([]pubsub.Topic{{Kind: pubsub.Pattern, Name: "*"}})
		assert.True(p, redis.AsErrorx(err).IsOfType(pubsub.ErrNoNodes))
	})
}

// While no node is known, a set stays on its nodes. When a new node is known, its gap begins at the time
// when the last nodes were known.
func TestFollowWhenNoNodeIsKnown(t *testing.T) {
	played(t, AllMasters, func(p *play) {
		p.add(news)
		p.asks("SUBSCRIBE", "one", "two")
		for _, addr := range []string{"one", "two"} {
			p.says(addr, pubsub.Subscribed, news)
			p.answers(addr)
		}
		time.Sleep(time.Minute)
		since := time.Now()
		for range 3 {
			p.nodes.since = time.Now()
			p.nodes.change()
			p.table.Place(true)
			assert.True(p, p.live("one", news))
			time.Sleep(time.Second)
		}
		p.nodes.since = time.Now()
		p.nodes.change(place("three"))
		p.table.Place(true)
		var open []*inbox.Gap
		for ev, _ := p.set.Inbox.Next(); ev != nil; ev, _ = p.set.Inbox.Next() {
			if gap := ev.(*inbox.Gap); gap.To.IsZero() {
				open = append(open, gap)
			}
		}
		require.Len(p, open, 1)
		_, nodes := open[0].Of()
		assert.Equal(p, []string{"three"}, nodes)
		assert.Equal(p, since, open[0].From)
	})
}

// A master that has become a replica still accepts a sharded channel, so the table waits before it
// subscribes on the new master. If the socket ends in this time, the gap's reason is still the
// failover.
func TestALostNodeThatIsNoMaster(t *testing.T) {
	for _, known := range []bool{false, true} {
		played(t, OneNode, func(p *play) {
			p.add(room)
			p.asks("SSUBSCRIBE", "one")
			p.says("one", pubsub.Subscribed, room)
			p.answers("one")
			p.says("one", pubsub.Unsubscribed, room)
			p.asks("SSUBSCRIBE", "one")
			p.says("one", pubsub.Subscribed, room)
			p.answers("one")

			reason := inbox.ConnectionLost
			if known {
				reason = inbox.Failover
				p.nodes.change(place("two"))
			}
			p.feeds["one"].Lost(errors.New("closed"))
			var reasons []inbox.Reason
			for ev, _ := p.set.Inbox.Next(); ev != nil; ev, _ = p.set.Inbox.Next() {
				if gap, ok := ev.(*inbox.Gap); ok {
					reasons = append(reasons, gap.Reason)
				}
			}
			assert.Equal(p, []inbox.Reason{reason}, reasons)
		})
	}
}

// A node that was unreachable for a while may have been replaced without knowing it.
func TestANodeThatComesBack(t *testing.T) {
	broken := errors.New("broken")
	for _, back := range []string{"at once", "late", "after a failure"} {
		played(t, OneNode, func(p *play) {
			call := p.add(room)
			p.asks("SSUBSCRIBE", "one")
			p.says("one", pubsub.Subscribed, room)
			p.answers("one")
			require.True(p, done(call))

			one := p.feeds["one"]
			one.Lost(broken)
			switch back {
			case "late":
				time.Sleep(backend.BusLag + 1)
			case "after a failure":
				one.Failed(broken, false)
			}
			asked := p.nodes.reloads
			one.Connected(&push.Socket{})
			if back == "at once" {
				p.asks("SSUBSCRIBE", "one")
				return
			}
			assert.Greater(p, p.nodes.reloads, asked)
			p.asks("SSUBSCRIBE")
			p.nodes.change(place("two"))
			time.Sleep(foundOutMost)
			p.table.Place(false)
			time.Sleep(backend.BusLag)
			p.table.Place(false)
			p.asks("SSUBSCRIBE", "two")
		})
	}
	played(t, OneNode, func(p *play) { // a topic that is new, or no longer requested, does not wait
		p.add(room)
		one := p.feeds["one"]
		one.Failed(broken, false)
		one.Connected(&push.Socket{})
		p.asks("SSUBSCRIBE", "one")
		p.says("one", pubsub.Subscribed, room)
		p.answers("one")
		one.Lost(broken)
		one.Failed(broken, false)
		p.set.Remove([]pubsub.Topic{room})
		one.Connected(&push.Socket{})
		p.asks("")
		assert.Zero(p, p.table.Unplaced())
	})
}
