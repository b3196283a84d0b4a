package torture

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redispubsub"
)

// judge finds each kind of violation.
func TestJudgeOfNumbers(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	topic := redispubsub.Channel("c")
	msg := func(n int) redispubsub.Event {
		return redispubsub.Message{Channel: "c", Payload: []byte(strconv.Itoa(n))}
	}
	gap := func(reason redispubsub.Reason, from, to int) redispubsub.Event {
		g := redispubsub.Gap{Topics: []redispubsub.Topic{topic}, From: at(from), Reason: reason}
		if to > 0 {
			g.To = at(to)
		}
		return g
	}
	other := redispubsub.Gap{Topics: []redispubsub.Topic{redispubsub.Channel("other")}, From: at(0), To: at(9)}
	const lost = redispubsub.ConnectionLost
	for name, c := range map[string]struct {
		events []redispubsub.Event
		want   string // part of the error
		inGaps int
	}{
		"all":                       {[]redispubsub.Event{msg(0), msg(1), msg(2), msg(3)}, "", 0},
		"a gap":                     {[]redispubsub.Event{msg(0), gap(lost, 1, 0), gap(lost, 1, 2), msg(3)}, "", 2},
		"before the first":          {[]redispubsub.Event{msg(2), msg(3)}, "0 is missing", 0},
		"behind the end of a gap":   {[]redispubsub.Event{msg(0), gap(lost, 0, 0), gap(lost, 0, 1), msg(3)}, "2 is missing", 1},
		"missing":                   {[]redispubsub.Event{msg(0), msg(1), msg(3)}, "2 is missing", 0},
		"the gap of another":        {[]redispubsub.Event{msg(0), other, msg(2), msg(3)}, "1 is missing", 0},
		"a gap in another place":    {[]redispubsub.Event{msg(0), msg(2), gap(lost, 1, 2), msg(3)}, "1 is missing", 0},
		"a gap at another time":     {[]redispubsub.Event{msg(0), gap(lost, 2, 3), msg(2), msg(3)}, "1 is missing", 0},
		"twice":                     {[]redispubsub.Event{msg(0), msg(1), msg(1), msg(2), msg(3)}, "1 came twice", 0},
		"out of order":              {[]redispubsub.Event{msg(0), gap(lost, 1, 2), msg(2), msg(1), msg(3)}, "1 came after 2", 0},
		"open":                      {[]redispubsub.Event{msg(0), gap(lost, 1, 0), msg(1), msg(2), msg(3)}, "stays open", 0},
		"not the last":              {[]redispubsub.Event{msg(0), msg(1), msg(2)}, "did not come", 0},
		"never published":           {[]redispubsub.Event{msg(7)}, "never published", 0},
		"ends before another opens": {[]redispubsub.Event{msg(0), gap(lost, 1, 0), gap(redispubsub.BufferFull, 1, 1), gap(lost, 1, 2), msg(3)}, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := &publisher{topic: topic, channel: "c"}
			for n := range 4 {
				p.numbers = append(p.numbers, number{began: at(n), ended: at(n)})
			}
			missed, err := p.judge(c.events, nil)
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
			assert.Equal(t, c.inGaps, missed.InGaps)
		})
	}
}

// A gap may begin late if servers have lost messages that they pass on to each other.
func TestJudgeOfLateGaps(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	p := &publisher{topic: redispubsub.Sharded("c"), channel: "c"}
	for n := range 4 {
		p.numbers = append(p.numbers, number{began: at(n), ended: at(n)})
	}
	var events []redispubsub.Event
	for _, n := range []string{"0", "2", "3"} {
		events = append(events, redispubsub.Message{Channel: "c", Payload: []byte(n), Sharded: true})
	}
	events = append(events, redispubsub.Gap{Topics: []redispubsub.Topic{p.topic}, From: at(1), To: at(2), Reason: redispubsub.Failover})
	missed, err := p.judge(events, []interval{{at(1), at(1)}})
	require.NoError(t, err)
	assert.Equal(t, 1, missed.Late)
	_, err = p.judge(events, []interval{{at(2), at(3)}})
	require.ErrorContains(t, err, "1 is missing", "no server was stopped then")
}

// Numbers arrive in order, unless another node accepts the later one after the usual delay of the
// cluster bus.
func TestJudgeOfOrder(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	var events []redispubsub.Event
	for _, n := range []string{"0", "2", "1", "3"} {
		events = append(events, redispubsub.Message{Channel: "c", Payload: []byte(n)})
	}
	for _, c := range []struct {
		began2, ended2 int
		node2          string
		behind         int
	}{
		{3, 110, "b", 1},
		{3, 100, "b", 0},
		{3, 110, "a", 0},
	} {
		p := &publisher{topic: redispubsub.Channel("c"), channel: "c", numbers: []number{
			{began: at(0), ended: at(1), node: "a"}, {began: at(2), ended: at(3), node: "a"},
			{began: at(c.began2), ended: at(c.ended2), node: c.node2}, {began: at(200), ended: at(201), node: c.node2},
		}}
		missed, err := p.judge(events, nil)
		if c.behind == 0 {
			require.ErrorContains(t, err, "1 came after 2")
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, c.behind, missed.Behind)
	}
	p := &publisher{topic: redispubsub.Channel("c"), channel: "c", numbers: []number{
		{began: at(0), ended: at(1), node: "a"}, {began: at(2), ended: at(3), node: "a"},
		{began: at(3), ended: at(110), node: "b"}, {began: at(200), ended: at(201), node: "b"},
	}}
	_, err := p.judge(append(events, events[2]), nil)
	require.ErrorContains(t, err, "1 came twice")
}

// Only messages that were published while the channel was subscribed count.
func TestJudgeOfEpisodes(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	p := &publisher{topic: redispubsub.Sharded("c"), channel: "c"}
	for n := range 8 {
		p.numbers = append(p.numbers, number{began: at(n), ended: at(n)})
	}
	gap := redispubsub.Gap{Topics: []redispubsub.Topic{p.topic}, From: at(3), To: at(4), Reason: redispubsub.SlotMoved}
	message := redispubsub.Message{Channel: "c", Payload: []byte("2"), Sharded: true}
	running, end := &pulse{}, at(4).Add(tellWithin+2*beat)
	for t := at(2); t.Before(end); t = t.Add(beat) {
		running.beats = append(running.beats, t)
	}
	c := &churn{pulse: running, episodes: []episode{{p, at(2), end}}}
	for want, events := range map[string][]redispubsub.Event{
		"":             {message, gap},
		"3 is missing": {message},
		"2 is missing": {gap},
		"stays open":   {message, redispubsub.Gap{Topics: gap.Topics, From: at(3), Reason: gap.Reason}},
	} {
		c.events = events
		missed, err := c.judge(nil)
		if want != "" {
			require.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, Missed{Numbers: 3, InGaps: 2, Episodes: 1, Gaps: map[redispubsub.Reason]int{}}, missed)
	}
}
