package redispubsub_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/faulty"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
)

// owner is a node that takes sharded channels, and gives them up, when a test says so.
type owner struct {
	t       testing.TB
	head    string // of a push
	server  *faulty.ScriptedServer
	conn    *redisconn.Connection
	asked   chan string // commands, each of which waits for an answer
	answers chan string
	sock    chan *faulty.ScriptedConn // that the last command came by
	last    *faulty.ScriptedConn
}

func newOwner(t testing.TB, protocol int) *owner {
	o := &owner{
		t: t, head: map[int]string{2: "*", 3: ">"}[protocol],
		asked: make(chan string), answers: make(chan string), sock: make(chan *faulty.ScriptedConn, 1),
	}
	o.server = faulty.NewScripted(t, faulty.ScriptedOpts{Handler: func(c *faulty.ScriptedConn, r faulty.ScriptedRequest) error {
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
	o.conn = connect(t, o.server.Addr(), redisconn.Opts{Protocol: protocol, IOTimeout: time.Hour})
	return o
}

// expects waits for a command.
func (o *owner) expects(cmd string) {
	o.t.Helper()
	select {
	case got := <-o.asked:
		require.Equal(o.t, cmd, got)
	case <-time.After(patience):
		require.Fail(o.t, "no "+cmd)
	}
}

// answer answers the command that waits.
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

// givesUp unsubscribes the channel, as a master does that hears of a new owner.
func (o *owner) givesUp() { o.sends(o.push("sunsubscribe", ":0\r\n")) }

func (o *owner) publishes(payload string) { o.sends(o.push("smessage", faulty.ScriptedBulk(payload))) }

func (o *owner) sends(push string) {
	o.t.Helper()
	_, err := o.last.Write([]byte(push))
	require.NoError(o.t, err)
}

func (o *owner) push(kind, rest string) string {
	return fmt.Sprintf("%s3\r\n%s%s%s", o.head, faulty.ScriptedBulk(kind), faulty.ScriptedBulk("a"), rest)
}

// attempt is a run of a test that proves something only if it is quick. It keeps the
// failures to itself.
type attempt struct {
	*testing.T
	moved    time.Time // when a sharded channel began to move
	failures []string
}

// Errorf is for assertions.
func (a *attempt) Errorf(format string, args ...any) {
	a.failures = append(a.failures, fmt.Sprintf(format, args...))
}

// FailNow is for assertions.
func (a *attempt) FailNow() { runtime.Goexit() }

// late reports whether an old node that keeps the channel may not be waited for any more.
func (a *attempt) late() bool {
	return !a.moved.IsZero() && time.Since(a.moved) >= redispubsub.HandoverMost
}

// attempts runs a test of a channel that moves, once more if the machine was held up for
// longer than the old node is waited for: what it has met then proves nothing.
func attempts(t *testing.T, test func(a *attempt)) {
	for try := 1; ; try++ {
		a := &attempt{T: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			test(a)
		}()
		<-done
		if len(a.failures) == 0 || !a.late() || try == 3 {
			for _, failure := range a.failures {
				t.Error(failure)
			}
			return
		}
	}
}

// handover has a channel on an old node, and a new one that the topology may name.
type handover struct {
	*attempt
	old, new *owner
	nodes    *fakeNodes
	s        *redispubsub.Subscriber
	sub      *redispubsub.Subscription
}

func eachHandover(t *testing.T, test func(h *handover)) {
	eachProtocol(t, func(t *testing.T, protocol int) {
		attempts(t, func(a *attempt) {
			h := &handover{attempt: a, old: newOwner(a, protocol), new: newOwner(a, protocol)}
			h.nodes = newFakeNodes(h.old.conn, h.new.conn)
			h.s = newFakeSubscriber(a, h.nodes)
			h.sub = h.s.NewSubscription(redispubsub.SubscriptionOpts{})
			test(h)
		})
	})
}

// subscribe asks for the channel, and returns where the result will be.
func (h *handover) subscribe() chan error {
	done := make(chan error, 1)
	go func() { done <- h.sub.Subscribe(withPatience(h), redispubsub.Sharded("a")) }()
	return done
}

// move has the topology name the new node, after the old one has delivered a message.
func (h *handover) move() {
	h.Helper()
	done := h.subscribe()
	h.old.takes()
	require.NoError(h, <-done)
	h.old.publishes("1")
	assert.Equal(h, "1", payload(h, take(h, h.sub, 1)[0]))
	h.moved = time.Now()
	h.nodes.change(h.new.conn, h.old.conn)
	gap := take(h, h.sub, 1)[0].(redispubsub.Gap)
	assert.True(h, gap.Open())
	assert.Equal(h, redispubsub.SlotMoved, gap.Reason)
}

// missed has a node send a message that nobody gets, since the gap is open.
func (h *handover) missed(by *owner) {
	h.Helper()
	received := func() int64 {
		for _, socket := range h.s.Stats().Sockets {
			if socket.Addr == by.conn.Addr() {
				return socket.Messages
			}
		}
		return -1
	}
	before := received()
	by.publishes("missed")
	require.Eventually(h, func() bool { return received() == before+1 }, patience, time.Millisecond)
	assert.Equal(h, 1, h.s.Stats().OpenGaps)
}

// restored waits for the end of the gap, and for a message of the node that has the
// channel then.
func (h *handover) restored(by *owner, began time.Time) {
	h.Helper()
	gap, ok := take(h, h.sub, 1)[0].(redispubsub.Gap)
	require.True(h, ok)
	assert.False(h, gap.To.Before(began), "it ends with the last of both")
	by.publishes("2")
	assert.Equal(h, "2", payload(h, take(h, h.sub, 1)[0]))
}

// The new owner of a slot may take messages before the old one knows, which takes them,
// too: the gap is open until both have said who has the channel, in whichever order.
func TestGapWhileASlotHasTwoOwners(t *testing.T) {
	eachHandover(t, func(h *handover) {
		h.move()
		h.new.takes()
		h.missed(h.new)
		h.missed(h.old)
		began := time.Now()
		h.old.givesUp()
		h.restored(h.new, began)
		require.Eventually(h, func() bool { return len(h.s.Stats().Sockets) == 1 }, patience, time.Millisecond)
		for _, r := range h.old.server.Requests() {
			assert.NotEqual(h, "SUNSUBSCRIBE", r.Cmd)
		}
	})
}

func TestTheOldOwnerGivesUpFirst(t *testing.T) {
	eachHandover(t, func(h *handover) {
		h.move()
		h.new.expects("SSUBSCRIBE")
		h.old.givesUp()
		require.Eventually(h, func() bool { return len(h.s.Stats().Sockets) == 1 }, patience, time.Millisecond)
		assert.Equal(h, 1, h.s.Stats().OpenGaps)
		began := time.Now()
		h.new.answer(h.new.push("ssubscribe", ":1\r\n"))
		h.restored(h.new, began)
	})
}

// An old owner that can't be asked any more is not waited for.
func TestTheOldOwnerIsLost(t *testing.T) {
	eachHandover(t, func(h *handover) {
		h.move()
		h.new.takes()
		h.missed(h.new)
		began := time.Now()
		h.old.last.Reset()
		h.restored(h.new, began)
	})
}

// Nor is one for ever that answers, and keeps the channel.
func TestTheOldOwnerKeepsTheChannel(t *testing.T) {
	t.Parallel()
	eachHandover(t, func(h *handover) {
		h.move()
		h.new.takes()
		h.missed(h.new)
		h.restored(h.new, time.Time{})
		h.old.expects("SUNSUBSCRIBE")
	})
}

// A slot that comes back is waited for where it was meanwhile.
func TestAHandoverBack(t *testing.T) {
	t.Parallel()
	eachHandover(t, func(h *handover) {
		h.move()
		h.new.takes()
		h.missed(h.new)
		h.nodes.change(h.old.conn, h.new.conn)
		h.old.takes() // once more, since what is on its way is older
		h.missed(h.old)
		began := time.Now()
		h.new.givesUp()
		h.restored(h.old, began)
	})
}

// Who unsubscribes waits for none of it.
func TestUnsubscribeWhileASlotHasTwoOwners(t *testing.T) {
	eachHandover(t, func(h *handover) {
		h.move()
		h.new.takes()
		h.missed(h.new)
		done := make(chan error, 1)
		go func() { done <- h.sub.Unsubscribe(withPatience(h), redispubsub.Sharded("a")) }()
		for _, o := range []*owner{h.new, h.old} {
			o.expects("SUNSUBSCRIBE")
			o.answer(o.push("sunsubscribe", ":0\r\n"))
		}
		require.NoError(h, <-done)
		require.Eventually(h, func() bool { return len(h.s.Stats().Sockets) == 0 }, patience, time.Millisecond)
		assert.Zero(h, h.s.Stats().OpenGaps)
	})
}

// Subscribe waits for an answer that the old owner has not given yet, and then for what
// that one says.
func TestSubscribeWhileASlotMoves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer  func(o *owner) string
		givesUp bool
	}{
		"it has the channel": {func(o *owner) string { return o.push("ssubscribe", ":1\r\n") }, true},
		"it has lost it":     {func(o *owner) string { return "-MOVED 15495 " + o.server.Addr() + "\r\n" }, false},
		"it refuses it":      {func(*owner) string { return "-NOPERM no\r\n" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			eachHandover(t, func(h *handover) {
				done := h.subscribe()
				h.old.expects("SSUBSCRIBE")
				h.moved = time.Now()
				h.nodes.change(h.new.conn, h.old.conn)
				h.new.takes()
				live := func() bool {
					for _, socket := range h.s.Stats().Sockets {
						if socket.Addr == h.new.conn.Addr() {
							return socket.Live == 1
						}
					}
					return false
				}
				require.Eventually(h, live, patience, time.Millisecond)
				require.Empty(h, done)
				h.old.answer(c.answer(h.old))
				if c.givesUp {
					h.missedByTheOld()
					require.Empty(h, done)
					h.old.givesUp()
				}
				require.NoError(h, <-done)
				h.new.publishes("2")
				assert.Equal(h, "2", payload(h, take(h, h.sub, 1)[0]))
			})
		})
	}
}

// missedByTheOld is missed before there is a gap: nothing was subscribed before.
func (h *handover) missedByTheOld() {
	h.Helper()
	h.old.publishes("missed")
	require.Eventually(h, func() bool {
		for _, socket := range h.s.Stats().Sockets {
			if socket.Messages == 1 {
				return true
			}
		}
		return false
	}, patience, time.Millisecond)
}

// spread is how long the news of a new owner may take to reach all nodes.
const spread = 100 * time.Millisecond

// Until all nodes know the new owner they pass on messages to the old one, so the new one
// is not asked before: the gap has to last as long.
func TestTheNewOwnerIsAskedWhenAllKnowIt(t *testing.T) {
	eachHandover(t, func(h *handover) {
		h.move()
		h.old.givesUp()
		h.new.expects("SSUBSCRIBE")
		assert.GreaterOrEqual(h, time.Since(h.moved), spread)
		h.new.answer(h.new.push("ssubscribe", ":1\r\n"))
		h.restored(h.new, h.moved.Add(spread))
	})
}

// The node that confirms may have become a replica meanwhile, which confirms, too: the nodes
// are found out once more.
func TestTheNodesAreFoundOutOnceMore(t *testing.T) {
	eachHandover(t, func(h *handover) {
		h.move()
		h.old.givesUp()
		h.new.expects("SSUBSCRIBE")
		before := h.nodes.reloads.Load()
		h.new.answer(h.new.push("ssubscribe", ":1\r\n"))
		h.restored(h.new, h.moved)
		assert.Greater(h, h.nodes.reloads.Load(), before)
	})
}

// The same goes for a channel that nobody has subscribed before.
func TestSubscribeAfterASlotHasMoved(t *testing.T) {
	eachHandover(t, func(h *handover) {
		moved := time.Now()
		h.nodes.change(h.new.conn, h.old.conn)
		done := h.subscribe()
		h.new.expects("SSUBSCRIBE")
		assert.GreaterOrEqual(h, time.Since(moved), spread)
		h.new.answer(h.new.push("ssubscribe", ":1\r\n"))
		require.NoError(h, <-done)
	})
}

// The new owner may have taken messages while the old one, which did not know, was still
// heard of.
func TestAGapBeginsBeforeTheNewsOfAnotherOwner(t *testing.T) {
	t.Parallel()
	eachProtocol(t, func(t *testing.T, protocol int) {
		attempts(t, func(a *attempt) {
			old, other := newOwner(a, protocol), newOwner(a, protocol)
			conn := connect(a, old.server.Addr(), redisconn.Opts{Protocol: protocol, IOTimeout: time.Second})
			nodes := newFakeNodes(conn, other.conn)
			sub := newFakeSubscriber(a, nodes).NewSubscription(redispubsub.SubscriptionOpts{})
			done := make(chan error, 1)
			go func() { done <- sub.Subscribe(withPatience(a), redispubsub.Sharded("a")) }()
			old.takes()
			require.NoError(a, <-done)
			a.moved = time.Now()
			beats := func() (n int) {
				for _, r := range old.server.Requests() {
					if r.Cmd == "PING" {
						n++
					}
				}
				return n
			}
			before := beats()
			require.Eventually(a, func() bool { return beats() >= before+3 }, patience, time.Millisecond)
			nodes.change(other.conn, conn)
			gap := take(a, sub, 1)[0].(redispubsub.Gap)
			assert.Equal(a, redispubsub.SlotMoved, gap.Reason)
			assert.False(a, gap.From.After(a.moved), "it begins %v later", gap.From.Sub(a.moved))
		})
	})
}

// A channel that is wanted again before it was unsubscribed was given up by its user, not by
// the server: it is not asked for more often than that.
func TestSubscribeWhileUnsubscribing(t *testing.T) {
	eachHandover(t, func(h *handover) {
		done := h.subscribe()
		h.old.takes()
		require.NoError(h, <-done)
		h.sub.Close()
		h.old.expects("SUNSUBSCRIBE")
		h.sub = h.s.NewSubscription(redispubsub.SubscriptionOpts{})
		done = h.subscribe()
		require.Eventually(h, func() bool { return len(h.sub.Topics()) == 1 }, patience, time.Millisecond)
		h.old.answer(h.old.push("sunsubscribe", ":0\r\n"))
		h.old.takes()
		select {
		case err := <-done:
			require.NoError(h, err)
		case cmd := <-h.old.asked:
			require.Fail(h, cmd+" once more")
		}
	})
}
