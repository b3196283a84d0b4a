package subscriptions

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/internal/push"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
)

// feed returns the feed of a node, made if there is none.
func (t *Table) feed(k feedKey) *Feed {
	f := t.feeds[k]
	if f == nil {
		f = &Feed{t: t, Node: k.node, key: k, topics: map[pubsub.Topic]*topic{}, dirty: map[*topic]struct{}{}, Changed: time.Now()}
		f.Ctx, f.cancel = context.WithCancel(t.ctx)
		t.feeds[k] = f
		t.attend(f)
	}
	return f
}

// Feeds returns all feeds.
func (t *Table) Feeds() []*Feed { return slices.Collect(maps.Values(t.feeds)) }

// Count returns how many topics are wanted of the node, and how many of these are live.
func (f *Feed) Count() (topics, live int) {
	for _, t := range f.topics {
		if len(t.members) == 0 {
			continue
		}
		topics++
		if t.live {
			live++
		}
	}
	return topics, live
}

// foundOutMost is about how long it takes until a node that was stopped and runs again is known to
// have been replaced meanwhile: the topology is looked at that often while nodes fail.
const foundOutMost = 2 * busLag

// Connected notes that there is a socket. A node of several that could not be reached for a while may
// have been replaced, and not know it yet: topics that were subscribed are asked for when the topology
// has had time to tell, so that no message comes from there before the gap of a failover.
func (f *Feed) Connected(sock *push.Socket) {
	away := f.t.lag > 0 && (f.State == Down || time.Since(f.Changed) > busLag)
	if away {
		f.t.nodes.ForceReloading()
	}
	f.sock = sock
	f.become(Connected, nil)
	for _, t := range f.topics {
		if away && t.heard && len(t.members) > 0 {
			t.placeIn(foundOutMost)
		}
		t.settle()
	}
}

func (f *Feed) become(s State, err error) {
	f.Err = err
	if f.State != s {
		f.State, f.Changed = s, time.Now()
	}
}

// Failed notes that there is no socket. Calls that wait for the first confirmation get
// an error that stays; otherwise they go on waiting.
func (f *Feed) Failed(err error, stays bool) {
	f.become(Down, err)
	for _, t := range f.topics {
		for _, m := range t.members {
			if stays && m.answer != nil {
				m.refuse(f.Node, err)
			}
		}
	}
}

// Lost opens the gaps of a socket that has ended, once topics that another node has by now are
// there: what a cluster does not need any more it closes.
func (f *Feed) Lost(err error) {
	f.t.Place(true)
	f.become(Connecting, err)
	for _, t := range f.topics {
		reason := inbox.ConnectionLost
		if t.replaced() {
			reason = inbox.Failover // the topic waits before it goes to the new master
		}
		t.openGaps(reason, err)
	}
	f.sock, f.flight = nil, nil
	for _, t := range f.topics {
		t.asked, t.live, t.givenUp = nil, false, false
		t.settle()
	}
}

// Asks returns what is to be sent because of what has changed since it was called last:
// what is wanted and not subscribed, and the other way round. Of a socket that has still to
// answer the last batch there is nothing.
func (t *Table) Asks() map[*push.Socket][]redis.Request {
	var asks map[*push.Socket][]redis.Request
	for f := range t.touched {
		if f.sock == nil || len(f.flight) > 0 || len(f.dirty) == 0 {
			continue
		}
		if asks == nil {
			asks = map[*push.Socket][]redis.Request{}
		}
		f.plan(time.Now())
		asks[f.sock] = f.flight.Requests()
	}
	clear(t.touched)
	return asks
}

// plan makes a batch of what is dirty.
func (f *Feed) plan(now time.Time) {
	asks := make([]pubsub.Ask, 0, len(f.dirty))
	for t := range f.dirty {
		asks = append(asks, pubsub.Ask{Topic: t.key.Topic, Subscribe: len(t.members) > 0, Alone: t.alone})
	}
	clear(f.dirty)
	f.flight = pubsub.Plan(asks)
	for _, cmd := range f.flight {
		for _, name := range cmd.Topics {
			t := f.topics[name]
			t.asked, t.confirmed = cmd, false
			if cmd.Subscribe {
				t.since = now
			}
		}
	}
}

// Members returns who takes the messages of a topic, and its name. The list is not changed
// any more.
func (f *Feed) Members(kind pubsub.Kind, name []byte) (members []*Member, of inbox.Source, err error) {
	t := f.topics[pubsub.Topic{Kind: kind, Name: string(name)}]
	if t == nil || !t.live {
		return nil, of, pubsub.ErrStream.New("a message of a topic that is not subscribed")
	}
	return t.members, t.key.source(), nil
}

// Confirmed notes that the server has subscribed or unsubscribed a topic, because it was
// asked to or by itself.
func (f *Feed) Confirmed(said pubsub.Said, now time.Time) error {
	subscribed := said.What == pubsub.Subscribed
	t := f.topics[pubsub.Topic{Kind: said.Kind, Name: string(said.Name)}]
	if t == nil || subscribed && !f.flight.Asks(t.asked, true) {
		return pubsub.ErrStream.New("an unsolicited confirmation")
	}
	if subscribed {
		t.subscribed(now)
		return nil
	}
	// Why, if it is the server's own wish, will be seen by what it answers next.
	t.live, t.givenUp = false, len(t.members) > 0 && !f.flight.Asks(t.asked, false)
	t.openGaps(inbox.None, nil)
	t.settle()
	if t.givenUp {
		f.t.nodes.ForceReloading()
	}
	return nil
}

func (t *topic) subscribed(now time.Time) {
	again := t.givenUp && !t.live
	t.live, t.confirmed, t.heard = true, true, true
	t.alone = false // it was not to blame
	t.pause, t.hops = 0, 0
	t.fences = max(t.fences-1, 0)
	switch {
	case again && len(t.members) > 0 && t.key.Kind == pubsub.Sharded && t.t.lag > 0:
		// It may serve the topic as a replica now: the topology will say.
		t.fences = 1
		t.placeIn(t.t.lag)
	case t.fences == 0:
		t.restore(now)
	}
}

// Answer takes a reply: the error of the oldest command in flight, or its fence.
func (f *Feed) Answer(reply any) error {
	cmd, err := f.flight.Take(reply)
	if cmd == nil {
		return err
	}
	f.t.touched[f] = struct{}{} // the next batch may be asked for
	topics := make([]*topic, len(cmd.Topics))
	for i, name := range cmd.Topics {
		topics[i] = f.topics[name]
		topics[i].asked = nil
	}
	switch {
	case cmd.Err != nil && len(topics) > 1 && !errs.Passes(redis.AsErrorx(cmd.Err)):
		// One of them is to blame, and takes no other with it.
		for _, t := range topics {
			t.alone = true
		}
	case cmd.Err != nil && cmd.Subscribe:
		for _, t := range topics {
			t.refused(cmd.Err)
		}
		return nil
	}
	for _, t := range topics {
		switch {
		case cmd.Subscribe && cmd.Err == nil && !t.confirmed:
			return pubsub.ErrStream.New("a command was not confirmed")
		case !cmd.Subscribe && t.live && cmd.Err != nil && redis.AsErrorx(cmd.Err).HasTrait(redis.ErrTraitTransient):
			t.delay()
		case !cmd.Subscribe && t.live: // MOVED comes behind the server's own unsubscription
			return pubsub.ErrStream.New("unsubscribing was not confirmed: %v", cmd.Err)
		}
		t.settle()
	}
	return nil
}
