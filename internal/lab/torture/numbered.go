package torture

import (
	"context"
	"fmt"
	"math/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redispubsub"
)

// number is a message of a channel. Its index among the messages of that channel is its number.
type number struct {
	began, ended time.Time // of the call of PUBLISH
	doubtful     bool      // PUBLISH failed, so it may have run at any time
	node         string    // the node that has accepted the message
}

// publisher publishes numbered messages on one channel.
type publisher struct {
	sender  redis.Sender
	topic   redispubsub.Topic // the topic that the consumers subscribe to
	channel string

	numbers []number
}

// publish publishes the next number, and reports whether that succeeded.
func (p *publisher) publish(ctx context.Context) bool {
	cmd := "PUBLISH"
	if p.topic.Kind == redispubsub.KindSharded {
		cmd = "SPUBLISH"
	}
	n := number{began: time.Now()}
	sender := redis.WithHook(p.sender, (*takenBy)(&n.node))
	n.doubtful = redis.AsError(redis.SyncCtx{S: sender}.Do(ctx, cmd, p.channel, strconv.Itoa(len(p.numbers)))) != nil
	n.ended = time.Now()
	p.numbers = append(p.numbers, n)
	return !n.doubtful
}

// takenBy is the address of the node that has accepted a message.
type takenBy string

func (*takenBy) Before(ctx context.Context, _ redis.Operation) context.Context { return ctx }

func (n *takenBy) After(_ context.Context, _ redis.Operation, end redis.Completion) {
	*n = takenBy(end.Address)
}

// run publishes until ctx is done.
func (p *publisher) run(ctx context.Context, rnd *rand.Rand) {
	for ctx.Err() == nil {
		p.publish(context.WithoutCancel(ctx))
		time.Sleep(time.Duration(rnd.Int63n(int64(2 * time.Millisecond))))
	}
}

// interval is a time in which servers may lose messages that they pass on to each other.
type interval struct{ from, to time.Time }

// Missed counts the messages that a subscription did not get.
type Missed struct {
	// Numbers counts the published numbers. InGaps counts those that did not arrive and lie in a
	// gap. Excused counts those that neither arrived nor lie in a gap: a killed or stopped server
	// had confirmed them, but not passed them on to the node of the subscription. Late counts those
	// that lie in a gap that was reported only after later numbers, because the subscription moved
	// after such a loss. Behind counts those that arrived after later numbers, which another node
	// had accepted.
	Numbers, InGaps, Excused, Late, Behind int
	// Episodes counts how often a topic of a churn was subscribed.
	Episodes int
	// Gaps counts the reported gaps of channels, by reason.
	Gaps map[redispubsub.Reason]int
}

func (m *Missed) add(o Missed) {
	m.Numbers += o.Numbers
	m.InGaps += o.InGaps
	m.Excused += o.Excused
	m.Late += o.Late
	m.Behind += o.Behind
	m.Episodes += o.Episodes
	if m.Gaps == nil {
		m.Gaps = map[redispubsub.Reason]int{}
	}
	for reason, n := range o.Gaps {
		m.Gaps[reason] += n
	}
}

// missing finds the messages that were published in an episode and did not arrive. Each must lie in
// a gap at the right place.
func (p *publisher) missing(h *heard, e episode, excuses []interval) (missed Missed, err error) {
	first, _ := slices.BinarySearchFunc(p.numbers, e.from, func(n number, from time.Time) int { return n.began.Compare(from) })
	for n := first; n < len(p.numbers) && !p.numbers[n].ended.After(e.to); n++ {
		num := p.numbers[n]
		missed.Numbers++
		came, gaps, late := h.around(n)
		switch {
		case came || num.doubtful:
		case num.inOneOf(gaps):
			missed.InGaps++
		case num.excused(excuses) && num.inOneOf(late):
			missed.Late++
		case p.topic.Kind != redispubsub.KindSharded && num.excused(excuses):
			missed.Excused++
		default:
			return missed, p.violated("%d is missing, in no gap of %v, later %v%s", n, gaps, late, p.neighbours(h, n))
		}
	}
	return missed, nil
}

// judge checks the messages of a subscription that existed from before the first number until after
// the last one.
func (p *publisher) judge(events []redispubsub.Event, excuses []interval) (missed Missed, err error) {
	h, err := p.hear(events)
	if err != nil {
		return missed, err
	}
	last := len(p.numbers) - 1
	if h.last() < last {
		return missed, p.violated("the last of %d did not come", last+1)
	}
	missed, err = p.missing(h, episode{to: p.numbers[last].ended}, excuses)
	missed.Gaps, missed.Behind = h.told, h.behind
	return missed, err
}

// neighbours describes the numbers around n: when and where they were published, and whether they
// arrived.
func (p *publisher) neighbours(h *heard, n int) string {
	var b strings.Builder
	for i := max(0, n-3); i < min(len(p.numbers), n+8); i++ {
		num := p.numbers[i]
		fmt.Fprintf(&b, "\n%d: published on %s, %v to %v, doubtful %t, came %t", i, num.node, num.began, num.ended, num.doubtful, h.came[i])
	}
	return b.String()
}

// in reports whether a gap concerns the publisher's channel.
func (p *publisher) in(gap redispubsub.Gap) bool {
	for _, topic := range gap.Topics {
		if topic == p.topic {
			return true
		}
	}
	return false
}

func (p *publisher) violated(format string, args ...any) error {
	return fmt.Errorf("channel %s, subscribed as %v: %s", p.channel, p.topic, fmt.Sprintf(format, args...))
}

// inOneOf reports whether a missing number lies in one of the gaps. If a gap means that the client
// dropped messages, the client may have read them before their publisher got the reply.
func (n number) inOneOf(gaps []redispubsub.Gap) bool {
	for _, g := range gaps {
		begun := g.Reason == redispubsub.BufferFull || !n.ended.Before(g.From)
		if begun && !n.began.After(g.To) {
			return true
		}
	}
	return false
}

// overtakenBy reports whether a later number may arrive first: another node has accepted it, and at
// least the usual delay of the cluster bus has passed.
func (n number) overtakenBy(later number) bool {
	return n.node != later.node && later.ended.Sub(n.began) >= busLag
}

func (n number) excused(excuses []interval) bool {
	for _, e := range excuses {
		if !n.ended.Before(e.from) && !n.began.After(e.to) {
			return true
		}
	}
	return false
}

// consumer collects the events of a subscription.
type consumer struct {
	mu     sync.Mutex // guards the fields below
	events []redispubsub.Event
	last   map[string]string // last payload, by channel
}

// run receives events until the subscription is closed. If slow is set, it pauses from time to
// time.
func (c *consumer) run(sub *redispubsub.Subscription, slow *rand.Rand) {
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
		if slow != nil && slow.Intn(50) == 0 {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// has reports whether the last number of a publisher has arrived.
func (c *consumer) has(p *publisher) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last[p.channel] == strconv.Itoa(len(p.numbers)-1)
}
