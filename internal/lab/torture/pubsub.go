package torture

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"strings"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
)

// PubSubTotals are the counts and findings of a PubSub.
type PubSubTotals struct {
	Missed
	Rounds int
	// Faults counts the faults by kind.
	Faults map[string]int
	Took   time.Duration
	// Samples are taken after each round, when no topic is subscribed.
	Samples []oracle.Sample
}

// String prints the totals.
func (t *PubSubTotals) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "time          %.3f h, %d rounds\n", t.Took.Hours(), t.Rounds)
	fmt.Fprintf(&b, "subscribed    %d times, for a while\n", t.Episodes)
	fmt.Fprintf(&b, "messages      %d for subscriptions, of which %d were missed in gaps; none twice, those of a node in order\n", t.Numbers, t.InGaps)
	if t.Excused > 0 {
		fmt.Fprintf(&b, "servers lost  %d on the way to each other, in which no client has a part\n", t.Excused)
	}
	if t.Behind > 0 {
		fmt.Fprintf(&b, "behind        %d came after later ones of another node\n", t.Behind)
	}
	if t.Late > 0 {
		fmt.Fprintf(&b, "late          %d were missed in a gap that came behind what servers had passed on\n", t.Late)
	}
	fmt.Fprintf(&b, "gaps          %v, none left open\n", t.Gaps)
	fmt.Fprintf(&b, "faults        %v", t.Faults)
	return b.String()
}

// pubSubStage has servers with publishers and a subscriber, and ways to break them. PubSub makes
// the random choices.
type pubSubStage interface {
	// begin makes a subscriber, and publishers that number their messages. protocol is the version
	// of RESP, 2 or 3.
	begin(protocol int) (*redispubsub.Subscriber, []*publisher, error)
	// fault makes one random fault, and undoes it after a while or when ctx ends. It returns the
	// kind of the fault.
	fault(ctx context.Context) (kind string, err error)
	// heal undoes the remaining faults, and returns the times in which servers may have lost
	// messages that they pass on to each other.
	heal() []interval
	// end closes everything that begin has made.
	end()
	close()
}

// PubSub is T29: numbered messages on channels, patterns and sharded channels, alternately with
// RESP2 and RESP3, for quick and slow consumers. Random faults hit the servers and their links to
// the subscriber, and each round is judged. PubSub ends early when ctx ends, or at the first
// violation, which it returns as an error.
func PubSub(ctx context.Context, o SoakOpts) (*PubSubTotals, error) {
	o = o.withDefaults()
	rnd := rand.New(rand.NewSource(o.Seed))
	totals := &PubSubTotals{Faults: map[string]int{}}
	totals.Gaps = map[redispubsub.Reason]int{}
	newStage := newServerPubSub
	if o.Cluster {
		newStage = newClusterPubSub
	}
	stage, err := newStage(rnd)
	if err != nil {
		return nil, err
	}
	defer stage.close()
	begin := time.Now()
	for time.Since(begin) < o.Duration && ctx.Err() == nil {
		before := maps.Clone(totals.Faults)
		r := &pubSubRound{SoakOpts: o, stage: stage, rnd: rnd, faults: totals.Faults, protocol: 2 + totals.Rounds%2}
		missed, err := r.run(ctx, min(o.Round, o.Duration-time.Since(begin)))
		totals.add(missed)
		totals.Took = time.Since(begin)
		if err != nil {
			return totals, fmt.Errorf("round %d, RESP%d, after %v: %w", totals.Rounds, r.protocol, since(before, totals.Faults), err)
		}
		o.Logf("round %d: RESP%d, faults %v: %d messages, %d in gaps, %d in late ones, %d lost and %d passed on late by servers; gaps %v", totals.Rounds,
			r.protocol, since(before, totals.Faults), missed.Numbers, missed.InGaps, missed.Late, missed.Excused, missed.Behind, missed.Gaps)
		totals.Rounds++
		totals.Samples = append(totals.Samples, oracle.TakeSample(true))
	}
	return totals, nil
}

// pubSubRound is a round of PubSub.
type pubSubRound struct {
	SoakOpts
	stage    pubSubStage
	rnd      *rand.Rand
	faults   map[string]int
	protocol int
}

// consumersOf are the options of the subscriptions of a round. All consumers except the first one
// are slow.
var consumersOf = []redispubsub.SubscriptionOpts{
	{Status: true},
	{MaxMessages: 16},
	{MaxMessages: 16, Policy: redispubsub.DropNewest},
	{MaxMessages: 16, Policy: redispubsub.Block},
}

// settleWithin bounds the time until everything is subscribed again.
const settleWithin = 30 * time.Second

func (r *pubSubRound) run(ctx context.Context, d time.Duration) (missed Missed, err error) {
	s, pubs, err := r.stage.begin(r.protocol)
	if err != nil {
		return missed, err
	}
	defer r.stage.end()
	defer s.Close()
	var topics []redispubsub.Topic
	for _, p := range pubs {
		topics = append(topics, p.topic)
	}
	var consumers []*consumer
	var consuming, publishing sync.WaitGroup
	defer consuming.Wait()
	for i, opts := range consumersOf {
		sub := s.NewSubscription(opts)
		defer sub.Close()
		if err := subscribe(ctx, sub, topics); err != nil {
			return missed, err
		}
		c, slow := &consumer{last: map[string]string{}}, rand.New(rand.NewSource(r.rnd.Int63()))
		if i == 0 {
			slow = nil
		}
		consuming.Go(func() { c.run(sub, slow) })
		consumers = append(consumers, c)
	}
	publishingCtx, stop := context.WithCancel(ctx)
	defer publishing.Wait()
	defer stop()
	for _, p := range pubs {
		rnd := rand.New(rand.NewSource(r.rnd.Int63()))
		publishing.Go(func() { p.run(publishingCtx, rnd) })
	}
	churns, churned := startChurn(publishingCtx, s, pubs, r.rnd, &consuming)
	err = r.play(ctx, d)
	excuses := r.stage.heal()
	stop()
	publishing.Wait()
	if err := errors.Join(err, churned()); err != nil {
		return missed, err
	}
	for _, p := range pubs {
		if err := settle(ctx, p, consumers); err != nil {
			return missed, err
		}
	}
	s.Close() // the subscription still delivers messages that wait for its consumer
	consuming.Wait()
	return judgeAll(pubs, consumers, churns, excuses)
}

// judgeAll checks what each consumer received from each publisher.
func judgeAll(pubs []*publisher, consumers []*consumer, churns []*churn, excuses []interval) (missed Missed, err error) {
	var errs []error
	for i, c := range consumers {
		for _, p := range pubs {
			m, err := p.judge(c.events, excuses)
			if err != nil {
				errs = append(errs, fmt.Errorf("subscription with %+v: %w", consumersOf[i], err))
			}
			missed.add(m)
		}
	}
	for _, c := range churns {
		m, err := c.judge(excuses)
		if err != nil {
			errs = append(errs, err)
		}
		missed.add(m)
	}
	return missed, errors.Join(errs...)
}

func subscribe(ctx context.Context, sub *redispubsub.Subscription, topics []redispubsub.Topic) error {
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	return sub.Subscribe(ctx, topics...)
}

// play makes faults for the duration d.
func (r *pubSubRound) play(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for ctx.Err() == nil {
		select {
		case <-time.After(time.Duration(r.rnd.Int63n(int64(2 * r.FaultEvery)))):
			kind, err := r.stage.fault(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			r.faults[kind]++
		case <-ctx.Done():
		}
	}
	return nil
}

// settle publishes until every consumer has received the last number.
func settle(ctx context.Context, p *publisher, consumers []*consumer) error {
	end := time.Now().Add(settleWithin)
	for time.Now().Before(end) && ctx.Err() == nil {
		if !p.publish(ctx) {
			time.Sleep(time.Millisecond)
			continue
		}
		for soon := time.Now().Add(200 * time.Millisecond); time.Now().Before(soon); time.Sleep(time.Millisecond) {
			have := 0
			for _, c := range consumers {
				if c.has(p) {
					have++
				}
			}
			if have == len(consumers) {
				return nil
			}
		}
	}
	return p.violated("not subscribed again within %v", settleWithin)
}

// pubSubConn returns options with which a connection notices silence early.
func pubSubConn(protocol int) redisconn.Opts {
	opts := soakConn(false)
	opts.Protocol, opts.Logger = protocol, redisconn.NoopLogger{}
	return opts
}
