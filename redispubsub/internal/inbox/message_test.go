package inbox

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/pubsub"
)

func channel(name string) pubsub.Topic { return pubsub.Topic{Kind: pubsub.Channel, Name: name} }

func at(seconds int) time.Time { return time.Unix(int64(seconds), 0) }

// gapOf makes a gap of channels. The gap is open if to is 0.
func gapOf(reason Reason, from, to int, names ...string) *Gap {
	g := &Gap{of: map[Source]struct{}{}, From: at(from), Reason: reason}
	if to > 0 {
		g.To = at(to)
	}
	for _, name := range names {
		g.of[Source{Topic: channel(name)}] = struct{}{}
	}
	return g
}

// seen is a Gap in the form that its consumer gets.
type seen struct {
	Topics   []pubsub.Topic
	Nodes    []string
	From, To time.Time
	Reason   Reason
	Dropped  int
	Err      error
}

// look converts an event to the form that its consumer gets.
func look(ev any) any {
	g, ok := ev.(*Gap)
	if !ok {
		return ev
	}
	topics, nodes := g.Of()
	return seen{topics, nodes, g.From, g.To, g.Reason, g.Dropped, g.Err}
}

// The inbox merges the events between two messages, and loses no information about gaps.
func TestRun(t *testing.T) {
	broken := errors.New("broken")
	withErr := gapOf(ConnectionLost, 3, 4, "b")
	withErr.Err = broken
	dropped := func(from, to, n int, name string) *Gap {
		g := gapOf(BufferFull, from, to, name)
		g.Dropped = n
		return g
	}
	of := func(names ...string) (topics []pubsub.Topic) {
		for _, name := range names {
			topics = append(topics, channel(name))
		}
		return topics
	}
	for name, c := range map[string]struct {
		build func(r *run) *run
		want  []any
	}{
		"gaps of a kind become one": {
			func(r *run) *run {
				return r.add(gapOf(ConnectionLost, 2, 3, "a")).add(withErr).add(gapOf(ConnectionLost, 1, 2, "a"))
			},
			[]any{seen{Topics: of("a", "b"), From: at(1), To: at(4), Reason: ConnectionLost, Err: broken}},
		},
		"reasons are kept apart": {
			func(r *run) *run { return r.add(gapOf(ConnectionLost, 1, 2, "a")).add(gapOf(Failover, 1, 2, "a")) },
			[]any{
				seen{Topics: of("a"), From: at(1), To: at(2), Reason: ConnectionLost},
				seen{Topics: of("a"), From: at(1), To: at(2), Reason: Failover},
			},
		},
		"an open gap is not merged with one that has ended": {
			func(r *run) *run { return r.add(gapOf(SlotMoved, 1, 2, "a")).add(gapOf(SlotMoved, 3, 0, "b")) },
			[]any{
				seen{Topics: of("a"), From: at(1), To: at(2), Reason: SlotMoved},
				seen{Topics: of("b"), From: at(3), Reason: SlotMoved},
			},
		},
		"the end of a gap takes the place of its beginning": {
			func(r *run) *run { return r.add(gapOf(SlotMoved, 1, 0, "a")).add(gapOf(SlotMoved, 1, 2, "a")) },
			[]any{seen{Topics: of("a"), From: at(1), To: at(2), Reason: SlotMoved}},
		},
		"a second gap ends, when the messages between are dropped": {
			func(r *run) *run {
				return r.add(gapOf(SlotMoved, 1, 0, "a")).add(gapOf(SlotMoved, 1, 2, "a")).add(gapOf(SlotMoved, 3, 0, "a")).add(gapOf(SlotMoved, 3, 4, "a"))
			},
			[]any{seen{Topics: of("a"), From: at(1), To: at(4), Reason: SlotMoved}},
		},
		"another topic's gap stays open": {
			func(r *run) *run {
				return r.add(gapOf(SlotMoved, 1, 0, "a", "b")).add(gapOf(SlotMoved, 1, 2, "a"))
			},
			[]any{
				seen{Topics: of("b"), From: at(1), Reason: SlotMoved},
				seen{Topics: of("a"), From: at(1), To: at(2), Reason: SlotMoved},
			},
		},
		"a gap whose beginning was taken": {
			func(r *run) *run { return r.add(gapOf(SlotMoved, 1, 2, "a")) },
			[]any{seen{Topics: of("a"), From: at(1), To: at(2), Reason: SlotMoved}},
		},
		"drops are counted": {
			func(r *run) *run {
				return r.add(dropped(1, 1, 1, "a")).add(dropped(2, 2, 1, "a")).add(dropped(3, 3, 2, "b"))
			},
			[]any{seen{Topics: of("a", "b"), From: at(1), To: at(3), Reason: BufferFull, Dropped: 4}},
		},
		"the last state of a topic counts": {
			func(r *run) *run {
				r = r.add(State{Source: Source{Topic: channel("a")}, On: true, Time: at(1)}).add(State{Source: Source{Topic: channel("b")}, On: true, Time: at(1)})
				return r.add(State{Source: Source{Topic: channel("a")}, Time: at(2), Err: broken})
			},
			[]any{State{Source: Source{Topic: channel("b")}, On: true, Time: at(1)}, State{Source: Source{Topic: channel("a")}, Time: at(2), Err: broken}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []any
			for _, ev := range c.build(&run{}).appendTo(nil) {
				got = append(got, look(ev))
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// A gap on several nodes names these nodes, and ends for each of them separately.
func TestGapOfNodes(t *testing.T) {
	all := pubsub.Topic{Kind: pubsub.Pattern, Name: "*"}
	on := func(node string, to time.Time) *Gap { return newGap(Source{all, node}, at(1), to, ConnectionLost) }
	var r run
	r.add(on("n1", time.Time{})).add(on("n2", time.Time{}))
	nth := func(i int) seen { return look(r.appendTo(nil)[i]).(seen) }
	assert.Equal(t, []string{"n1", "n2"}, nth(0).Nodes)
	r.add(on("n1", at(2)))
	assert.Equal(t, []string{"n2"}, nth(0).Nodes)
	assert.Equal(t, []string{"n1"}, nth(1).Nodes)
	assert.Equal(t, []pubsub.Topic{all}, nth(1).Topics)
}

// If the consumer takes no events, the cost per topic does not grow with the number of topics.
func TestRunOfManyTopics(t *testing.T) {
	const topics, rounds = 50_000, 4
	var r run
	for round := range rounds {
		for i := range topics {
			r.add(State{Source: Source{Topic: channel(strconv.Itoa(i))}, On: round%2 == 1, Time: at(round)})
			r.add(gapOf(ConnectionLost, round+1, 0, strconv.Itoa(i)))
		}
		r.add(gapOf(Failover, 1, 2, "a"))
	}
	got := r.appendTo(nil)
	assert.Len(t, got, topics+2)
	assert.LessOrEqual(t, len(r.events), 2*len(got), "what was replaced goes")
	assert.Equal(t, State{Source: Source{Topic: channel(strconv.Itoa(topics - 1))}, On: true, Time: at(rounds - 1)}, got[len(got)-1])
}
