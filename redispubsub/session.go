package redispubsub

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// session is the life of a socket.
type session struct {
	f    *feed
	sock *redisconn.PushSocket
	// inflight are the commands that are not answered, oldest first. Guarded by
	// Subscriber.mu.
	inflight []*command
	messages atomic.Int64
	// retired is what the subscriber's counters have of this session. Guarded by
	// Subscriber.mu.
	retired struct{ messages, bytes uint64 }

	// Of the goroutine that receives: when, and how many bytes, were read last; names of
	// channels that came by patterns.
	now      time.Time
	received int64
	names    map[string]string
}

// namesMost bounds how many names of channels are kept, to be used again.
const namesMost = 1024

func newSession(f *feed, sock *redisconn.PushSocket) *session {
	return &session{f: f, sock: sock, names: map[string]string{}}
}

// receive takes what comes until the socket ends, and returns why it did.
func (s *session) receive() error {
	var push redis.Push
	for {
		reply, pushed, err := s.sock.Receive(&push)
		if err == nil {
			if received := s.sock.Received(); received != s.received {
				s.now, s.received = time.Now(), received
			}
			if pushed {
				err = s.take(&push)
			} else {
				err = s.answer(reply)
			}
		}
		if err != nil {
			return err
		}
	}
}

// take takes a push.
func (s *session) take(push *redis.Push) error {
	w := push.Words
	switch string(w[0]) {
	case "message":
		return s.message(push, KindChannel, 2)
	case "pmessage":
		return s.message(push, KindPattern, 3)
	case "smessage":
		return s.message(push, KindSharded, 2)
	}
	for k := range kinds {
		switch string(w[0]) {
		case kinds[k].subscribed:
			return s.confirmation(push, Kind(k), true)
		case kinds[k].unsubscribed:
			return s.confirmation(push, Kind(k), false)
		}
	}
	return ErrStream.New("a push of an unknown kind")
}

// message hands a message to the members of its topic. words is how many come before the
// payload: the last of them is the channel.
func (s *session) message(push *redis.Push, k Kind, words int) error {
	if len(push.Words) != words || push.Rest != nil {
		return ErrStream.New("a malformed message")
	}
	f := s.f
	f.s.mu.Lock()
	t := f.topics[Topic{k, string(push.Words[1])}]
	if t == nil || !t.live {
		f.s.mu.Unlock()
		return ErrStream.New("a message of a topic that is not subscribed")
	}
	members := t.members
	f.s.mu.Unlock()
	s.messages.Add(1)
	if len(members) == 0 {
		return nil
	}
	msg := Message{Channel: t.key.Name, Payload: push.Body, Sharded: k == KindSharded, Node: t.key.spot().node, Time: s.now}
	if k == KindPattern {
		msg.Channel, msg.Pattern = s.name(push.Words[2]), t.key.Name
	}
	size, ev := msg.size(), Event(msg)
	for _, m := range members {
		s.deliver(m, ev, size)
	}
	return nil
}

// deliver adds a message to the buffer of a member. It waits for room where the policy
// is Block: the session has no other subscription then.
func (s *session) deliver(m *member, ev Event, size int) {
	b := m.sub.buffer
	for waited := false; ; waited = true {
		switch b.offer(m, s, ev, size, s.now) {
		case taken:
			if waited {
				signal(b.room) // for another session, if there is room for its message, too
			}
			return
		case overflown:
			s.f.s.closeSubscription(m.sub)
			return
		}
		s.sock.Hold(true)
		select {
		case <-b.room:
		case <-s.f.ctx.Done():
			return
		}
		s.sock.Hold(false)
	}
}

// name returns the name of a channel, the same string for the same name.
func (s *session) name(word []byte) string {
	name, ok := s.names[string(word)]
	if !ok {
		if len(s.names) == namesMost {
			clear(s.names)
		}
		name = string(word)
		s.names[name] = name
	}
	return name
}

// confirmation notes that the server has subscribed or unsubscribed a topic, because it
// was asked to or by itself.
func (s *session) confirmation(push *redis.Push, k Kind, subscribed bool) error {
	if _, counted := push.Rest.(int64); !counted || len(push.Words) != 2 {
		return ErrStream.New("a malformed confirmation")
	}
	f := s.f
	f.s.mu.Lock()
	t := f.topics[Topic{k, string(push.Words[1])}]
	if t == nil || subscribed && !s.asksLocked(t, true) {
		f.s.mu.Unlock()
		return ErrStream.New("a confirmation that nobody asked for")
	}
	if subscribed {
		again := t.givenUp && !t.live
		t.live, t.confirmed, t.heard = true, true, true
		t.pause, t.hops = 0, 0
		t.fences = max(t.fences-1, 0)
		switch {
		case again && len(t.members) > 0 && t.key.sharded() && f.s.lag > 0:
			// It may serve the topic as a replica now: the topology will say.
			t.fences = 1
			f.s.delayed[t] = s.now.Add(f.s.lag)
			signal(f.s.poke)
		case t.fences == 0:
			f.restoreLocked(t, s.now)
		}
	} else {
		// Why, if it is the server's own wish, will be seen by what it answers next.
		t.live, t.givenUp = false, len(t.members) > 0 && !s.asksLocked(t, false)
		f.openGapsLocked(t, s, 0, nil)
		f.settleLocked(t)
	}
	if !subscribed && t.givenUp {
		f.s.nodes.ForceReloading()
	}
	f.s.mu.Unlock()
	f.reconcile()
	return nil
}

// asksLocked reports whether the oldest command in flight subscribes the topic, or
// unsubscribes it.
func (s *session) asksLocked(t *topic, subscribe bool) bool {
	return len(s.inflight) > 0 && s.inflight[0] == t.asked && t.asked.subscribe == subscribe
}

// answer takes a reply: the error of the oldest command in flight, or its fence.
func (s *session) answer(reply any) error {
	f := s.f
	f.s.mu.Lock()
	if len(s.inflight) == 0 {
		f.s.mu.Unlock()
		return ErrStream.New("a reply that nobody asked for")
	}
	cmd := s.inflight[0]
	if err := redis.AsError(reply); err != nil {
		again := cmd.err != nil
		cmd.err = err
		f.s.mu.Unlock()
		if again {
			return ErrStream.Wrap(err, "a second answer to one command")
		}
		return nil
	}
	if echo, ok := reply.([]byte); !ok || string(echo) != cmd.fence {
		f.s.mu.Unlock()
		return ErrStream.New("a fence was answered with something else")
	}
	s.inflight = s.inflight[1:]
	touched := map[*feed]struct{}{f: {}}
	err := f.answeredLocked(cmd, s, touched)
	f.s.mu.Unlock()
	reconcileAll(touched)
	return err
}

// answeredLocked settles the topics of a command of which all answers have come.
func (f *feed) answeredLocked(cmd *command, sess *session, touched map[*feed]struct{}) error {
	for _, t := range cmd.topics {
		t.asked = nil
	}
	switch {
	case cmd.err != nil && len(cmd.topics) > 1 && !passes(cmd.err):
		// One of them is to blame, and takes no other with it.
		for _, t := range cmd.topics {
			t.alone = true
		}
	case cmd.err != nil && cmd.subscribe:
		for _, t := range cmd.topics {
			f.s.refusedLocked(t, cmd.err, touched)
		}
		return nil
	}
	for _, t := range cmd.topics {
		switch {
		case cmd.subscribe && cmd.err == nil && !t.confirmed:
			return ErrStream.New("a command was not confirmed")
		case !cmd.subscribe && t.live: // MOVED comes behind the server's own unsubscription
			return ErrStream.New("unsubscribing was not confirmed: %v", cmd.err)
		}
		f.settleLocked(t)
	}
	return nil
}

// restoreLocked has the members of a topic take its messages, once no other node may take
// messages for it.
func (f *feed) restoreLocked(t *topic, now time.Time) {
	if f.s.leaving[t.key] != nil {
		return
	}
	for _, m := range t.members {
		m.sub.buffer.restore(m, f.session, now)
		m.settleLocked(f, nil)
	}
	if t.doubted {
		t.doubted = false
		f.s.nodes.ForceReloading()
	}
}
