package torture

import (
	"context"
	"fmt"
	"math/rand"
	"sync"
	"time"

	"github.com/joomcode/redispipe/redispubsub"
)

const (
	// churners subscribe and unsubscribe during a round.
	churners = 24
	// churnMean and churnMost are the mean and the longest time for which a topic stays subscribed.
	churnMean = time.Second
	churnMost = 5 * time.Second
	// tellWithin is how late a subscriber may report a loss, for example because a node does not
	// know yet that it is no longer a master. A loss just before Unsubscribe is not reported at
	// all.
	tellWithin = nodeTimeout + busLag
)

// churn is a subscription to which topics are added and from which they are removed.
type churn struct {
	sub *redispubsub.Subscription
	consumer
	pulse    *pulse
	rnd      *rand.Rand
	episodes []episode
}

// episode is a time in which a channel was subscribed: from the return of Subscribe to the call of
// Unsubscribe.
type episode struct {
	p        *publisher
	from, to time.Time
}

// startChurn subscribes and unsubscribes topics of the publishers until ctx is done. wait waits
// until that has ended.
func startChurn(ctx context.Context, s *redispubsub.Subscriber, pubs []*publisher, rnd *rand.Rand, consuming *sync.WaitGroup) (all []*churn, wait func() error) {
	var churning sync.WaitGroup
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	running := &pulse{}
	consuming.Go(func() { running.run(beating) })
	errs := make(chan error, churners)
	for range churners {
		c := &churn{sub: s.NewSubscription(redispubsub.SubscriptionOpts{}), pulse: running, rnd: rand.New(rand.NewSource(rnd.Int63()))}
		c.last = map[string]string{}
		consuming.Go(func() { c.consumer.run(c.sub, nil) })
		churning.Go(func() { errs <- c.run(ctx, pubs) })
		all = append(all, c)
	}
	return all, func() error {
		churning.Wait()
		stop()
		close(errs)
		for err := range errs {
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func (c *churn) run(ctx context.Context, pubs []*publisher) error {
	lasting := context.WithoutCancel(ctx)
	for ctx.Err() == nil {
		p := pubs[c.rnd.Intn(len(pubs))]
		if err := subscribe(lasting, c.sub, []redispubsub.Topic{p.topic}); err != nil {
			return fmt.Errorf("subscribing %v: %w", p.topic, err)
		}
		from := time.Now()
		select {
		case <-time.After(min(time.Duration(c.rnd.ExpFloat64()*float64(churnMean)), churnMost)):
		case <-ctx.Done():
		}
		c.episodes = append(c.episodes, episode{p, from, time.Now()})
		bounded, cancel := context.WithTimeout(lasting, settleWithin)
		err := c.sub.Unsubscribe(bounded, p.topic)
		cancel()
		if err != nil {
			return fmt.Errorf("unsubscribing %v: %w", p.topic, err)
		}
	}
	return nil
}

// judge checks all episodes.
func (c *churn) judge(excuses []interval) (missed Missed, err error) {
	of := map[*publisher]*heard{}
	for _, e := range c.episodes {
		h := of[e.p]
		if h == nil {
			if h, err = e.p.hear(c.events); err != nil {
				return missed, err
			}
			of[e.p] = h
		}
		lasted := e.to.Sub(e.from)
		e.to = c.pulse.before(e.to, tellWithin)
		m, err := e.p.missing(h, e, excuses)
		missed.add(m)
		if err != nil {
			return missed, fmt.Errorf("subscribed for %v: %w", lasted, err)
		}
	}
	missed.Episodes = len(c.episodes)
	return missed, nil
}
