package redispubsub

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/internal/push"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
	"github.com/joomcode/redispipe/redispubsub/internal/subscriptions"
)

// session handles what arrives over one socket of a feed, until the socket ends.
type session struct {
	s        *Subscriber
	feed     *subscriptions.Feed
	sock     *push.Socket
	messages atomic.Int64

	// Only the goroutine that receives uses these fields: the time of the last read, the bytes received
	// until then, and the names of channels that matched patterns.
	now      time.Time
	received int64
	names    map[string]string
}

// namesMost bounds the number of channel names that are kept for reuse, and nameMost their length:
// together 256 KiB.
const namesMost, nameMost = 1024, 256

func newSession(s *Subscriber, f *subscriptions.Feed, sock *push.Socket) *session {
	return &session{s: s, feed: f, sock: sock, names: map[string]string{}}
}

// receive handles messages until the socket ends, and returns the reason.
func (s *session) receive() error {
	var push redis.Push
	for {
		reply, pushed, err := s.sock.Receive(&push)
		if err != nil {
			return err
		}
		if received := s.sock.Received(); received != s.received {
			s.now, s.received = time.Now(), received
		}
		if pushed {
			err = s.take(&push)
			clear(push.Words) // the next push may take long to arrive
			push.Body, push.Rest = nil, nil
		} else {
			err = s.answer(reply)
		}
		if err != nil {
			return err
		}
	}
}

// take handles a push.
func (s *session) take(push *redis.Push) error {
	notice, err := pubsub.Parse(push)
	if err != nil {
		return err
	}
	switch notice.Type {
	case pubsub.Message:
		return s.message(notice, push.Body)
	case pubsub.Maintenance:
		work, _ := pubsub.ParseWork(push.Words[0], push.Rest)
		if _, ok := s.s.announced.Admit(s.now); ok {
			s.s.report(LogMaintenance{Addr: s.sock.Addr(), Kind: work.Kind, In: work.In, Endpoint: work.Endpoint})
		}
		return nil
	}
	s.s.mu.Lock()
	defer s.s.unlock()
	return s.feed.Confirmed(notice, s.now)
}

// answer handles a reply.
func (s *session) answer(reply any) error {
	s.s.mu.Lock()
	defer s.s.unlock()
	return s.feed.Answer(reply)
}

// message passes a message on to the members of its topic.
func (s *session) message(notice pubsub.Notice, payload []byte) error {
	s.s.mu.Lock()
	members, of, err := s.feed.Members(notice.Kind, notice.Name)
	s.s.mu.Unlock()
	if err != nil {
		return err
	}
	s.messages.Add(1)
	if len(members) == 0 {
		return nil
	}
	msg := inbox.Message{Channel: of.Name, Payload: payload, Sharded: notice.Kind == pubsub.Sharded, Node: of.Node, Time: s.now}
	if notice.Kind == pubsub.Pattern {
		msg.Channel, msg.Pattern = s.name(notice.Channel), of.Name
	}
	size, ev := msg.Size(), any(Message(msg))
	for _, m := range members {
		s.deliver(m, ev, size)
	}
	return nil
}

// deliver adds a message to the inbox of a member. With the policy Block it waits for room, which delays
// no other subscription, because the session then belongs to this one alone.
func (s *session) deliver(m *subscriptions.Member, ev any, size int) {
	room := m.Set.Inbox.Room
	for waited := false; ; waited = true {
		switch m.Intake.Offer(s.sock, ev, size, s.now) {
		case inbox.Overflown:
			s.s.closeSet(m.Set)
			return
		case inbox.Full:
		default:
			if waited {
				lifetime.Wake(room) // another session may wait for room in the same inbox
			}
			return
		}
		s.sock.Hold(true)
		select {
		case <-room:
		case <-m.Intake.Removed:
		case <-s.feed.Ctx.Done():
			return
		}
		s.sock.Hold(false)
	}
}

// name returns the name of a channel as a string. For a name that it has seen, it reuses the string.
func (s *session) name(word []byte) string {
	name, ok := s.names[string(word)]
	if ok {
		return name
	}
	if name = string(word); len(name) <= nameMost {
		if len(s.names) == namesMost {
			clear(s.names)
		}
		s.names[name] = name
	}
	return name
}
