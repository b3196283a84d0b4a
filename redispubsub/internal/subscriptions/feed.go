package subscriptions

import (
	"context"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/internal/push"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
)

// feed returns the feed of a node, and creates it if there is none.
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

// Count returns the number of topics requested from the node, and how many of these are live.
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

// foundOutMost is about how long the client needs to learn that a node was replaced while it was stopped.
// While nodes fail, the client reads the topology this often.
const foundOutMost = 2 * backend.BusLag

// Connected records a new socket. If a node of a cluster was unreachable for a while, another node may
// have replaced it, and the node itself may not know that yet. So the feed waits for foundOutMost before
// it subscribes again. Otherwise messages of this node could arrive before the gap of the failover.
func (f *Feed) Connected(sock *push.Socket) {
	away := f.t.lag > 0 && (f.State == Down || time.Since(f.Changed) > backend.BusLag)
	if away {
		f.t.nodes.ForceReloading()
	}
	f.sock, f.reached = sock, true
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

// Failed records that dialing has failed. If stays is set, the error is permanent, and calls that wait for
// the first confirmation return it; otherwise they keep waiting.
//
// An error also counts as permanent if it is of a single server that was never reached, and no process
// listens at its address (ECONNREFUSED).
func (f *Feed) Failed(err error, stays bool) {
	f.become(Down, err)
	stays = stays || f.t.lag == 0 && !f.reached && errs.CausedBy(err, syscall.ECONNREFUSED)
	for _, t := range f.topics {
		for _, m := range t.members {
			if stays && m.answer != nil {
				m.refuse(f.Node, err)
			}
		}
	}
}

// Lost opens gaps for the topics of a socket that has ended. First it moves the topics that now belong to
// another node: the cluster may have closed the socket because its node has left.
func (f *Feed) Lost(err error) {
	f.t.Place(true)
	f.become(Connecting, err)
	for _, t := range f.topics {
		reason := inbox.ConnectionLost
		if t.replaced() {
			reason = inbox.Failover // the topic will go to the new master after a pause
		}
		t.openGaps(reason, err)
	}
	closes := f.sock != nil && push.ClosesAtUnknown(f.sock)
	f.sock, f.flight = nil, nil
	for _, t := range f.topics {
		refused := closes && !t.heard && t.asked != nil
		t.asked, t.live, t.givenUp = nil, false, false
		if refused { // the proxy would also close the next connection
			t.refused(redis.ErrProxy.Wrap(err, "a proxy closes the connection instead of subscribing"))
		}
		t.settle()
	}
}

// Asks returns the commands to send, by socket. They subscribe the topics that are requested and not
// subscribed yet, and unsubscribe those that are no longer requested. Asks returns nothing for a socket
// that has not answered its last batch yet.
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

// plan builds a batch of commands for the dirty topics.
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

// Members returns the members that take the messages of a topic, and the topic as a source. The returned
// list never changes.
func (f *Feed) Members(kind pubsub.Kind, name []byte) (members []*Member, of inbox.Source, err error) {
	t := f.topics[pubsub.Topic{Kind: kind, Name: string(name)}]
	if t == nil || !t.live {
		return nil, of, pubsub.ErrStream.New("a message of a topic that is not subscribed")
	}
	return t.members, t.key.source(), nil
}

// Confirmed records that the server has subscribed or unsubscribed a topic. The server may also
// unsubscribe a topic that nobody has asked it to.
func (f *Feed) Confirmed(notice pubsub.Notice, now time.Time) error {
	subscribed := notice.Type == pubsub.Subscribed
	t := f.topics[pubsub.Topic{Kind: notice.Kind, Name: string(notice.Name)}]
	if t == nil || subscribed && !f.flight.Asks(t.asked, true) {
		return pubsub.ErrStream.New("an unsolicited confirmation")
	}
	if subscribed {
		t.subscribed(now)
		return nil
	}
	// If the server has done this by itself, the answer to the next request shows why.
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
	t.alone = false // another topic caused the error of the command
	t.pause, t.hops = 0, 0
	t.fences = max(t.fences-1, 0)
	switch {
	case again && len(t.members) > 0 && t.key.Kind == pubsub.Sharded && t.t.lag > 0:
		// The node may have become a replica, and replicas accept sharded channels as well. Wait until the
		// topology shows the new role.
		t.fences = 1
		t.placeIn(t.t.lag)
	case t.fences == 0:
		t.restore(now)
	}
}

// Answer handles a reply: the error of the oldest command in flight, or the echo of the PING behind that
// command.
func (f *Feed) Answer(reply any) error {
	cmd, err := f.flight.Take(reply)
	if cmd == nil {
		return err
	}
	f.t.touched[f] = struct{}{} // Table.Asks may return the next batch
	topics := make([]*topic, len(cmd.Topics))
	for i, name := range cmd.Topics {
		topics[i] = f.topics[name]
		topics[i].asked = nil
	}
	switch {
	case cmd.Err != nil && len(topics) > 1 && !errs.Passes(redis.AsErrorx(cmd.Err)):
		// One of the topics is the cause. Ask for each of them alone, so that the others succeed.
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
		case !cmd.Subscribe && t.live: // the server has unsubscribed the topic by itself, and MOVED follows
			return pubsub.ErrStream.New("unsubscribing was not confirmed: %v", cmd.Err)
		}
		t.settle()
	}
	return nil
}
