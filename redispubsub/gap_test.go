package redispubsub

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func at(seconds int) time.Time { return time.Unix(int64(seconds), 0) }

// gapOf makes a gap of channels; to 0 is an open one.
func gapOf(reason Reason, from, to int, names ...string) *gap {
	g := &gap{of: map[spot]struct{}{}, from: at(from), reason: reason}
	if to > 0 {
		g.to = at(to)
	}
	for _, name := range names {
		g.of[spot{Topic: Channel(name)}] = struct{}{}
	}
	return g
}

// What is between two messages is kept short, and loses nothing of what gaps say.
func TestRun(t *testing.T) {
	broken := errors.New("broken")
	withErr := gapOf(ConnectionLost, 3, 4, "b")
	withErr.err = broken
	dropped := func(from, to, n int, name string) *gap {
		g := gapOf(BufferFull, from, to, name)
		g.dropped = n
		return g
	}
	of := func(names ...string) (topics []Topic) {
		for _, name := range names {
			topics = append(topics, Channel(name))
		}
		return topics
	}
	for name, c := range map[string]struct {
		build func(r gapRun) gapRun
		want  []Event
	}{
		"gaps of a kind become one": {
			func(r gapRun) gapRun {
				return r.add(gapOf(ConnectionLost, 2, 3, "a")).add(withErr).add(gapOf(ConnectionLost, 1, 2, "a"))
			},
			[]Event{Gap{Topics: of("a", "b"), From: at(1), To: at(4), Reason: ConnectionLost, Err: broken}},
		},
		"reasons are kept apart": {
			func(r gapRun) gapRun { return r.add(gapOf(ConnectionLost, 1, 2, "a")).add(gapOf(Failover, 1, 2, "a")) },
			[]Event{
				Gap{Topics: of("a"), From: at(1), To: at(2), Reason: ConnectionLost},
				Gap{Topics: of("a"), From: at(1), To: at(2), Reason: Failover},
			},
		},
		"an open gap is not merged with one that has ended": {
			func(r gapRun) gapRun { return r.add(gapOf(SlotMoved, 1, 2, "a")).add(gapOf(SlotMoved, 3, 0, "b")) },
			[]Event{
				Gap{Topics: of("a"), From: at(1), To: at(2), Reason: SlotMoved},
				Gap{Topics: of("b"), From: at(3), Reason: SlotMoved},
			},
		},
		"the end of a gap takes the place of its beginning": {
			func(r gapRun) gapRun { return r.add(gapOf(SlotMoved, 1, 0, "a")).closeGap(gapOf(SlotMoved, 1, 2, "a")) },
			[]Event{Gap{Topics: of("a"), From: at(1), To: at(2), Reason: SlotMoved}},
		},
		"a second gap ends, when the messages between are dropped": {
			func(r gapRun) gapRun {
				return r.add(gapOf(SlotMoved, 1, 0, "a")).add(gapOf(SlotMoved, 1, 2, "a")).add(gapOf(SlotMoved, 3, 0, "a")).add(gapOf(SlotMoved, 3, 4, "a"))
			},
			[]Event{Gap{Topics: of("a"), From: at(1), To: at(4), Reason: SlotMoved}},
		},
		"another topic's gap stays open": {
			func(r gapRun) gapRun {
				return r.add(gapOf(SlotMoved, 1, 0, "a", "b")).closeGap(gapOf(SlotMoved, 1, 2, "a"))
			},
			[]Event{
				Gap{Topics: of("b"), From: at(1), Reason: SlotMoved},
				Gap{Topics: of("a"), From: at(1), To: at(2), Reason: SlotMoved},
			},
		},
		"a gap whose beginning was taken": {
			func(r gapRun) gapRun { return r.closeGap(gapOf(SlotMoved, 1, 2, "a")) },
			[]Event{Gap{Topics: of("a"), From: at(1), To: at(2), Reason: SlotMoved}},
		},
		"drops are counted": {
			func(r gapRun) gapRun {
				return r.add(dropped(1, 1, 1, "a")).add(dropped(2, 2, 1, "a")).add(dropped(3, 3, 2, "b"))
			},
			[]Event{Gap{Topics: of("a", "b"), From: at(1), To: at(3), Reason: BufferFull, Dropped: 4}},
		},
		"the last state of a topic counts": {
			func(r gapRun) gapRun {
				r = r.add(Subscribed{Channel("a"), at(1)}).add(Subscribed{Channel("b"), at(1)})
				return r.add(Unsubscribed{Channel("a"), at(2), broken})
			},
			[]Event{Subscribed{Channel("b"), at(1)}, Unsubscribed{Channel("a"), at(2), broken}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []Event
			for _, ev := range c.build(nil) {
				if g, ok := ev.(*gap); ok {
					got = append(got, g.public())
				} else {
					got = append(got, ev)
				}
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// A gap on several nodes says which, and ends for each by itself.
func TestGapOfNodes(t *testing.T) {
	on := func(node string, to time.Time) *gap {
		return &gap{of: map[spot]struct{}{{Pattern("*"), node}: {}}, from: at(1), to: to, reason: ConnectionLost}
	}
	r := gapRun{}.add(on("n1", time.Time{}))
	r = r.add(on("n2", time.Time{}))
	assert.Equal(t, []string{"n1", "n2"}, r[0].(*gap).public().Nodes)
	r = r.closeGap(on("n1", at(2)))
	assert.Equal(t, []string{"n2"}, r[0].(*gap).public().Nodes)
	assert.Equal(t, []string{"n1"}, r[1].(*gap).public().Nodes)
	assert.Equal(t, []Topic{Pattern("*")}, r[1].(*gap).public().Topics)
}
