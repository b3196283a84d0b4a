package virtualtime

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redispubsub"
)

// handover has a channel on an old node, and a new one that the topology may name.
type handover struct {
	*testing.T
	old, new *owner
	moved    time.Time // when the channel began to move
	nodes    *movingNodes
	s        *redispubsub.Subscriber
	sub      *redispubsub.Subscription
}

func eachHandover(t *testing.T, test func(h *handover)) {
	eachProtocol(t, func(t *testing.T, protocol int) { test(newHandover(t, protocol, time.Hour)) })
}

func newHandover(t *testing.T, protocol int, timeout time.Duration) *handover {
	h := &handover{T: t, old: newOwner(t, protocol, timeout), new: newOwner(t, protocol, timeout)}
	h.nodes = newMovingNodes(h.old, h.new)
	h.s = newMovingSubscriber(t, h.nodes)
	h.sub = h.s.NewSubscription(redispubsub.SubscriptionOpts{})
	return h
}

// socket returns the state of the socket to a node: none if there is none.
func (h *handover) socket(of *owner) redispubsub.SocketStats {
	synctest.Wait()
	for _, socket := range h.s.Stats().Sockets {
		if socket.Addr == of.conn.Addr() {
			return socket
		}
	}
	return redispubsub.SocketStats{}
}

// sockets returns how many there are.
func (h *handover) sockets() int {
	synctest.Wait()
	return len(h.s.Stats().Sockets)
}

// subscribe asks for the channel, and returns where the result will be.
func (h *handover) subscribe() chan error {
	done := make(chan error, 1)
	go func() { done <- h.sub.Subscribe(h.Context(), redispubsub.Sharded("a")) }()
	return done
}

// move has the topology name the new node, after the old one has delivered a message.
func (h *handover) move() {
	h.Helper()
	done := h.subscribe()
	h.old.takes()
	require.NoError(h, <-done)
	h.old.publishes("1")
	assert.Equal(h, "1", payload(h, h.sub))
	h.moved = time.Now()
	h.nodes.change(h.new, h.old)
	gap := take(h, h.sub).(redispubsub.Gap)
	assert.True(h, gap.Open())
	assert.Equal(h, redispubsub.SlotMoved, gap.Reason)
}

// missed has a node send a message that nobody gets, since the gap is open.
func (h *handover) missed(by *owner) {
	h.Helper()
	before := h.socket(by).Messages
	by.publishes("missed")
	assert.Equal(h, before+1, h.socket(by).Messages)
	assert.Equal(h, 1, h.s.Stats().OpenGaps)
}

// restored waits for the end of the gap, and for a message of the node that has the
// channel then.
func (h *handover) restored(by *owner, began time.Time) {
	h.Helper()
	gap, ok := take(h, h.sub).(redispubsub.Gap)
	require.True(h, ok)
	assert.False(h, gap.To.Before(began), "it ends with the last of both")
	by.publishes("2")
	assert.Equal(h, "2", payload(h, h.sub))
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
		assert.Equal(h, 1, h.sockets())
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
		assert.Equal(h, 1, h.sockets())
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

// kept is how long an old owner is waited for that answers, and keeps the channel.
const kept = 2 * time.Second

// Nor is one for ever that answers, and keeps the channel.
func TestTheOldOwnerKeepsTheChannel(t *testing.T) {
	eachHandover(t, func(h *handover) {
		h.move()
		h.new.takes()
		h.missed(h.new)
		h.restored(h.new, h.moved.Add(kept))
		assert.Equal(h, kept, time.Since(h.moved))
		h.old.expects("SUNSUBSCRIBE")
	})
}

// A slot that comes back is waited for where it was meanwhile.
func TestAHandoverBack(t *testing.T) {
	eachHandover(t, func(h *handover) {
		h.move()
		h.new.takes()
		h.missed(h.new)
		h.nodes.change(h.old, h.new)
		h.old.takes() // once more, since what is on its way is older
		h.missed(h.old)
		began := time.Now()
		h.new.givesUp()
		h.restored(h.old, began)
	})
}

// A slot that comes back brings nothing that its node sent before: it would come behind what
// the other node has sent meanwhile.
func TestAReturnBringsNothingOld(t *testing.T) {
	eachHandover(t, func(h *handover) {
		h.move()
		h.new.takes()
		h.nodes.change(h.old, h.new)
		h.old.expects("SSUBSCRIBE")
		h.missed(h.old)
		began := time.Now()
		h.old.answer(h.old.push("ssubscribe", ":1\r\n"))
		h.new.last.Reset()
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
		go func() { done <- h.sub.Unsubscribe(h.Context(), redispubsub.Sharded("a")) }()
		for _, o := range []*owner{h.new, h.old} {
			o.expects("SUNSUBSCRIBE")
			o.answer(o.push("sunsubscribe", ":0\r\n"))
		}
		require.NoError(h, <-done)
		assert.Zero(h, h.sockets())
		assert.Zero(h, h.s.Stats().OpenGaps)
	})
}

// Subscribe waits for an answer that the old owner has not given yet, and then for what
// that one says.
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
			eachHandover(t, func(h *handover) {
				done := h.subscribe()
				h.old.expects("SSUBSCRIBE")
				h.moved = time.Now()
				h.nodes.change(h.new, h.old)
				h.new.takes()
				assert.Equal(h, 1, h.socket(h.new).Live)
				require.Empty(h, done)
				h.old.answer(c.answer(h.old))
				if c.givesUp {
					h.old.publishes("missed")
					assert.EqualValues(h, 1, h.socket(h.old).Messages)
					require.Empty(h, done)
					h.old.givesUp()
				}
				require.NoError(h, <-done)
				h.new.publishes("2")
				assert.Equal(h, "2", payload(h, h.sub))
			})
		})
	}
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
		assert.Equal(h, spread, time.Since(h.moved))
		h.new.answer(h.new.push("ssubscribe", ":1\r\n"))
		h.restored(h.new, h.moved.Add(spread))
	})
}

func (h *handover) reloads() int {
	h.nodes.mu.Lock()
	defer h.nodes.mu.Unlock()
	return h.nodes.reloads
}

// The node that confirms may have become a replica meanwhile, which confirms, too: the nodes
// are found out once more.
func TestTheNodesAreFoundOutOnceMore(t *testing.T) {
	eachHandover(t, func(h *handover) {
		h.move()
		h.old.givesUp()
		h.new.expects("SSUBSCRIBE")
		before := h.reloads()
		h.new.answer(h.new.push("ssubscribe", ":1\r\n"))
		h.restored(h.new, h.moved)
		assert.Greater(h, h.reloads(), before)
	})
}

// The same goes for a channel that nobody has subscribed before.
func TestSubscribeAfterASlotHasMoved(t *testing.T) {
	eachHandover(t, func(h *handover) {
		moved := time.Now()
		h.nodes.change(h.new, h.old)
		done := h.subscribe()
		h.new.expects("SSUBSCRIBE")
		assert.Equal(h, spread, time.Since(moved))
		h.new.answer(h.new.push("ssubscribe", ":1\r\n"))
		require.NoError(h, <-done)
	})
}

// The new owner may have taken messages while the old one, which did not know, was still
// heard of.
func TestAGapBeginsBeforeTheNewsOfAnotherOwner(t *testing.T) {
	eachProtocol(t, func(t *testing.T, protocol int) {
		h := newHandover(t, protocol, time.Second)
		done := h.subscribe()
		h.old.takes()
		require.NoError(t, <-done)
		subscribed := time.Now()
		time.Sleep(time.Second) // heartbeats are answered
		assert.True(t, h.socket(h.old).Confirmed.After(subscribed))
		h.nodes.change(h.new, h.old)
		gap := take(t, h.sub).(redispubsub.Gap)
		assert.Equal(t, redispubsub.SlotMoved, gap.Reason)
		assert.False(t, gap.From.After(subscribed), "it begins %v later", gap.From.Sub(subscribed))
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
		synctest.Wait()
		require.Len(h, h.sub.Topics(), 1)
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
