package virtualtime

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redispubsub"
)

// move is a channel that moves from an old node to a new one, when the topology names that.
type move struct {
	*testing.T
	old, new *owner
	moved    time.Time // when the channel began to move
	nodes    *movingNodes
	s        *redispubsub.Subscriber
	sub      *redispubsub.Subscription
}

func eachMove(t *testing.T, test func(m *move)) {
	eachProtocol(t, func(t *testing.T, protocol int) { test(newMove(t, protocol, time.Hour)) })
}

func newMove(t *testing.T, protocol int, timeout time.Duration) *move {
	m := &move{T: t, old: newOwner(t, protocol, timeout), new: newOwner(t, protocol, timeout)}
	m.nodes = newMovingNodes(m.old, m.new)
	m.s = newMovingSubscriber(t, m.nodes)
	m.sub = m.s.NewSubscription(redispubsub.SubscriptionOpts{})
	return m
}

// socket returns the state of the subscriber's socket to a node, or zero if there is none.
func (m *move) socket(of *owner) redispubsub.SocketStats {
	synctest.Wait()
	for _, socket := range m.s.Stats().Sockets {
		if socket.Addr == of.conn.Addr() {
			return socket
		}
	}
	return redispubsub.SocketStats{}
}

// sockets returns the number of the subscriber's sockets.
func (m *move) sockets() int {
	synctest.Wait()
	return len(m.s.Stats().Sockets)
}

// subscribe subscribes the channel. The returned channel receives the result.
func (m *move) subscribe() chan error {
	done := make(chan error, 1)
	go func() { done <- m.sub.Subscribe(m.Context(), redispubsub.Sharded("a")) }()
	return done
}

// move makes the topology name the new node, after the old node has delivered a message.
func (m *move) move() {
	m.Helper()
	done := m.subscribe()
	m.old.takes()
	require.NoError(m, <-done)
	m.old.publishes("1")
	assert.Equal(m, "1", payload(m, m.sub))
	m.moved = time.Now()
	m.nodes.change(m.new, m.old)
	gap := take(m, m.sub).(redispubsub.Gap)
	assert.True(m, gap.Open())
	assert.Equal(m, redispubsub.SlotMoved, gap.Reason)
}

// missed makes a node send a message that the subscription does not get, because a gap is open.
func (m *move) missed(by *owner) {
	m.Helper()
	before := m.socket(by).Messages
	by.publishes("missed")
	assert.Equal(m, before+1, m.socket(by).Messages)
	assert.Equal(m, 1, m.s.Stats().OpenGaps)
}

// restored waits for the end of the gap, and for a message of the node that then has the channel.
func (m *move) restored(by *owner, began time.Time) {
	m.Helper()
	gap, ok := take(m, m.sub).(redispubsub.Gap)
	require.True(m, ok)
	assert.False(m, gap.To.Before(began), "it ends with the last of both")
	by.publishes("2")
	assert.Equal(m, "2", payload(m, m.sub))
}

// The new owner of a slot may accept messages while the old one does not know of it and still
// accepts them, too. The gap is open until both have reported the owner, in any order.
func TestGapWhileASlotHasTwoOwners(t *testing.T) {
	eachMove(t, func(m *move) {
		m.move()
		m.new.takes()
		m.missed(m.new)
		m.missed(m.old)
		began := time.Now()
		m.old.givesUp()
		m.restored(m.new, began)
		assert.Equal(m, 1, m.sockets())
		for _, r := range m.old.server.Requests() {
			assert.NotEqual(m, "SUNSUBSCRIBE", r.Cmd)
		}
	})
}

func TestTheOldOwnerGivesUpFirst(t *testing.T) {
	eachMove(t, func(m *move) {
		m.move()
		m.new.expects("SSUBSCRIBE")
		m.old.givesUp()
		assert.Equal(m, 1, m.sockets())
		assert.Equal(m, 1, m.s.Stats().OpenGaps)
		began := time.Now()
		m.new.answer(m.new.push("ssubscribe", ":1\r\n"))
		m.restored(m.new, began)
	})
}

// The subscriber does not wait for an old owner that is unreachable.
func TestTheOldOwnerIsLost(t *testing.T) {
	eachMove(t, func(m *move) {
		m.move()
		m.new.takes()
		m.missed(m.new)
		began := time.Now()
		m.old.last.Reset()
		m.restored(m.new, began)
	})
}

// kept is how long the subscriber waits for an old owner that answers and keeps the channel.
const kept = 2 * time.Second

// If the old owner still answers and keeps the channel, the gap is closed after a while.
func TestTheOldOwnerKeepsTheChannel(t *testing.T) {
	eachMove(t, func(m *move) {
		m.move()
		m.new.takes()
		m.missed(m.new)
		m.restored(m.new, m.moved.Add(kept))
		assert.Equal(m, kept, time.Since(m.moved))
		m.old.expects("SUNSUBSCRIBE")
	})
}

// If a slot comes back, the subscriber waits for the node that had the slot in between.
func TestAMoveBack(t *testing.T) {
	eachMove(t, func(m *move) {
		m.move()
		m.new.takes()
		m.missed(m.new)
		m.nodes.change(m.old, m.new)
		m.old.takes() // confirms once more, because earlier messages may still be under way
		m.missed(m.old)
		began := time.Now()
		m.new.givesUp()
		m.restored(m.old, began)
	})
}

// If a slot comes back to a node, messages that this node had sent before are dropped, because they
// would arrive after newer messages of the other node.
func TestAReturnBringsNothingOld(t *testing.T) {
	eachMove(t, func(m *move) {
		m.move()
		m.new.takes()
		m.nodes.change(m.old, m.new)
		m.old.expects("SSUBSCRIBE")
		m.missed(m.old)
		began := time.Now()
		m.old.answer(m.old.push("ssubscribe", ":1\r\n"))
		m.new.last.Reset()
		m.restored(m.old, began)
	})
}

// Unsubscribe does not wait for either owner.
func TestUnsubscribeWhileASlotHasTwoOwners(t *testing.T) {
	eachMove(t, func(m *move) {
		m.move()
		m.new.takes()
		m.missed(m.new)
		done := make(chan error, 1)
		go func() { done <- m.sub.Unsubscribe(m.Context(), redispubsub.Sharded("a")) }()
		for _, o := range []*owner{m.new, m.old} {
			o.expects("SUNSUBSCRIBE")
			o.answer(o.push("sunsubscribe", ":0\r\n"))
		}
		require.NoError(m, <-done)
		assert.Zero(m, m.sockets())
		assert.Zero(m, m.s.Stats().OpenGaps)
	})
}

// Subscribe waits for the old owner's answer, and then for the node that this answer names.
func TestSubscribeWhileASlotMoves(t *testing.T) {
	for name, c := range map[string]struct {
		answer  func(o *owner) string
		givesUp bool
	}{
		"it has the channel": {func(o *owner) string { return o.push("ssubscribe", ":1\r\n") }, true},
		"it has lost it":     {func(o *owner) string { return "-MOVED 15495 " + o.server.Addr() + "\r\n" }, false},
		"it refuses it":      {func(*owner) string { return "-NOPERM no\r\n" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			eachMove(t, func(m *move) {
				done := m.subscribe()
				m.old.expects("SSUBSCRIBE")
				m.moved = time.Now()
				m.nodes.change(m.new, m.old)
				m.new.takes()
				assert.Equal(m, 1, m.socket(m.new).Live)
				require.Empty(m, done)
				m.old.answer(c.answer(m.old))
				if c.givesUp {
					m.old.publishes("missed")
					assert.EqualValues(m, 1, m.socket(m.old).Messages)
					require.Empty(m, done)
					m.old.givesUp()
				}
				require.NoError(m, <-done)
				m.new.publishes("2")
				assert.Equal(m, "2", payload(m, m.sub))
			})
		})
	}
}

// spread is how long it may take until all nodes know a new owner.
const spread = 100 * time.Millisecond

// Until all nodes know the new owner, they pass messages on to the old one. So the subscriber does
// not ask the new owner before that, and the gap lasts at least as long.
func TestTheNewOwnerIsAskedWhenAllKnowIt(t *testing.T) {
	eachMove(t, func(m *move) {
		m.move()
		m.old.givesUp()
		m.new.expects("SSUBSCRIBE")
		assert.Equal(m, spread, time.Since(m.moved))
		m.new.answer(m.new.push("ssubscribe", ":1\r\n"))
		m.restored(m.new, m.moved.Add(spread))
	})
}

func (m *move) reloads() int {
	m.nodes.mu.Lock()
	defer m.nodes.mu.Unlock()
	return m.nodes.reloads
}

// The node that confirms a subscription may have become a replica, because replicas confirm, too.
// So the subscriber looks up the nodes once more.
func TestTheNodesAreFoundOutOnceMore(t *testing.T) {
	eachMove(t, func(m *move) {
		m.move()
		m.old.givesUp()
		m.new.expects("SSUBSCRIBE")
		before := m.reloads()
		m.new.answer(m.new.push("ssubscribe", ":1\r\n"))
		m.restored(m.new, m.moved)
		assert.Greater(m, m.reloads(), before)
	})
}

// The subscriber also looks up the nodes once more for a channel that it has not subscribed before.
func TestSubscribeAfterASlotHasMoved(t *testing.T) {
	eachMove(t, func(m *move) {
		moved := time.Now()
		m.nodes.change(m.new, m.old)
		done := m.subscribe()
		m.new.expects("SSUBSCRIBE")
		assert.Equal(m, spread, time.Since(moved))
		m.new.answer(m.new.push("ssubscribe", ":1\r\n"))
		require.NoError(m, <-done)
	})
}

// The new owner may have accepted messages while the subscriber still got messages of the old one,
// which did not know of the new owner.
func TestAGapBeginsBeforeTheNewsOfAnotherOwner(t *testing.T) {
	eachProtocol(t, func(t *testing.T, protocol int) {
		m := newMove(t, protocol, time.Second)
		done := m.subscribe()
		m.old.takes()
		require.NoError(t, <-done)
		subscribed := time.Now()
		time.Sleep(time.Second) // the server answers heartbeats in this time
		assert.True(t, m.socket(m.old).Confirmed.After(subscribed))
		m.nodes.change(m.new, m.old)
		gap := take(t, m.sub).(redispubsub.Gap)
		assert.Equal(t, redispubsub.SlotMoved, gap.Reason)
		assert.False(t, gap.From.After(subscribed), "it begins %v later", gap.From.Sub(subscribed))
	})
}

// A channel may be wanted again before its unsubscription is confirmed. Then the user has given it
// up, not the server, so it is subscribed only once more.
func TestSubscribeWhileUnsubscribing(t *testing.T) {
	eachMove(t, func(m *move) {
		done := m.subscribe()
		m.old.takes()
		require.NoError(m, <-done)
		m.sub.Close()
		m.old.expects("SUNSUBSCRIBE")
		m.sub = m.s.NewSubscription(redispubsub.SubscriptionOpts{})
		done = m.subscribe()
		synctest.Wait()
		require.Len(m, m.sub.Topics(), 1)
		m.old.answer(m.old.push("sunsubscribe", ":0\r\n"))
		m.old.takes()
		select {
		case err := <-done:
			require.NoError(m, err)
		case cmd := <-m.old.asked:
			require.Fail(m, cmd+" once more")
		}
	})
}
