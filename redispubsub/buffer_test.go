package redispubsub

import (
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// filled makes a buffer with a live member that was offered messages of n bytes each, one
// in a second.
func filled(opts SubscriptionOpts, sizes ...int) *buffer {
	opts, _ = opts.withDefaults()
	b := newBuffer(opts, &counters{})
	sub, s := &Subscription{buffer: b}, &session{}
	m := &member{sub: sub, key: topicKey{Topic: Channel("c")}}
	b.restore(m, s, at(0))
	for i, size := range sizes {
		msg := Message{Channel: "c", Payload: make([]byte, size-1), Time: at(i + 1)}
		b.offer(m, s, msg, msg.size(), msg.Time)
	}
	return b
}

// What does not fit is dropped where the policy says, and counted where it was.
func TestBounds(t *testing.T) {
	msgs := func(from, to int) (list []string) {
		for i := from; i <= to; i++ {
			list = append(list, "m"+strconv.Itoa(i))
		}
		return list
	}
	const most = 100 + messageOverhead // bytes: one message of 100
	for name, c := range map[string]struct {
		opts  SubscriptionOpts
		sizes []int
		want  []string
	}{
		"room":                         {SubscriptionOpts{MaxMessages: 3}, []int{1, 1, 1}, msgs(1, 3)},
		"oldest":                       {SubscriptionOpts{MaxMessages: 3}, []int{1, 1, 1, 1, 1}, append([]string{"2 from 1 to 2"}, msgs(3, 5)...)},
		"newest":                       {SubscriptionOpts{MaxMessages: 3, Policy: DropNewest}, []int{1, 1, 1, 1, 1}, append(msgs(1, 3), "2 from 4 to 5")},
		"end":                          {SubscriptionOpts{MaxMessages: 3, Policy: EndWithError}, []int{1, 1, 1, 1, 1}, append(msgs(1, 3), "1 from 4 to 4")},
		"bytes, oldest":                {SubscriptionOpts{MaxBytes: most}, []int{50, 50, 60}, []string{"2 from 1 to 2", "m3"}},
		"bytes, newest":                {SubscriptionOpts{MaxBytes: most, Policy: DropNewest}, []int{100, 1}, []string{"m1", "1 from 2 to 2"}},
		"too long, alone":              {SubscriptionOpts{MaxBytes: 10}, []int{1000}, msgs(1, 1)},
		"too long takes the place":     {SubscriptionOpts{MaxBytes: most}, []int{100, 1000}, []string{"1 from 1 to 1", "m2"}},
		"too long does not, as newest": {SubscriptionOpts{MaxBytes: most, Policy: DropNewest}, []int{100, 1000}, []string{"m1", "1 from 2 to 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := filled(c.opts, c.sizes...)
			var got []string
			for ev, _ := b.next(); ev != nil; ev, _ = b.next() {
				switch ev := ev.(type) {
				case Message:
					got = append(got, "m"+strconv.FormatInt(ev.Time.Unix(), 10))
				case Gap:
					assert.Equal(t, BufferFull, ev.Reason)
					got = append(got, strconv.Itoa(ev.Dropped)+" from "+strconv.FormatInt(ev.From.Unix(), 10)+" to "+strconv.FormatInt(ev.To.Unix(), 10))
				}
			}
			assert.Equal(t, c.want, got)
			assert.Zero(t, b.held)
			assert.Zero(t, b.bytes)
		})
	}
}

// Events that are no messages outlive the messages around them.
func TestEvictionKeepsOtherEvents(t *testing.T) {
	b := newBuffer(SubscriptionOpts{MaxMessages: 1, MaxBytes: 1 << 20}, &counters{})
	sub, s := &Subscription{buffer: b}, &session{}
	m := &member{sub: sub, key: topicKey{Topic: Channel("c")}}
	b.restore(m, s, at(0))
	for i := range 3 {
		msg := Message{Channel: "c", Time: at(10 * i)}
		b.offer(m, s, msg, msg.size(), msg.Time)
		b.lose(m, s, at(10*i+1), ConnectionLost, nil)
		b.restore(m, s, at(10*i+2))
	}
	var got []Event
	for ev, _ := b.next(); ev != nil; ev, _ = b.next() {
		got = append(got, ev)
	}
	topics := []Topic{Channel("c")}
	assert.Equal(t, []Event{
		Gap{Topics: topics, From: at(0), To: at(10), Reason: BufferFull, Dropped: 2},
		Gap{Topics: topics, From: at(1), To: at(2), Reason: ConnectionLost},
		Gap{Topics: topics, From: at(11), To: at(12), Reason: ConnectionLost},
		Message{Channel: "c", Time: at(20)},
		Gap{Topics: topics, From: at(21), To: at(22), Reason: ConnectionLost},
	}, got)
}

// Two sessions that wait for room both get some, though the message of one of them is not
// wanted any more.
func TestRoomIsPassedOn(t *testing.T) {
	for range 50 { // for the order in which they come to wait
		b := newBuffer(SubscriptionOpts{Policy: Block, MaxMessages: 1, MaxBytes: 1 << 20}, &counters{})
		sub := &Subscription{s: &Subscriber{}, buffer: b}
		var sessions []*session
		var members []*member
		for i := range 2 {
			s := &session{f: &feed{ctx: t.Context()}, sock: &redisconn.PushSocket{}}
			m := &member{sub: sub, key: topicKey{Topic: Channel(strconv.Itoa(i))}}
			b.restore(m, s, at(0))
			sessions, members = append(sessions, s), append(members, m)
		}
		var delivering sync.WaitGroup
		deliver := func(i int) {
			msg := Message{Channel: strconv.Itoa(i)}
			sessions[i].deliver(members[i], msg, msg.size())
		}
		deliver(1)
		for i := range 2 {
			delivering.Go(func() { deliver(i) })
		}
		runtime.Gosched()
		b.lose(members[0], sessions[0], at(1), SlotMoved, nil)
		taken := 0
		for ev, err := range sub.Events(t.Context()) {
			require.NoError(t, err)
			if msg, ok := ev.(Message); ok && msg.Channel == "1" {
				if taken++; taken == 2 {
					break
				}
			}
		}
		delivering.Wait()
	}
}

// A message costs one allocation beside its payload, from the socket to the consumer.
func TestAllocationsOfAMessage(t *testing.T) {
	b := newBuffer(SubscriptionOpts{MaxMessages: 1 << 10, MaxBytes: 1 << 20}, &counters{})
	sub := &Subscription{buffer: b}
	f := &feed{s: &Subscriber{}, topics: map[Topic]*topic{}}
	s := newSession(f, nil)
	for _, key := range []Topic{Channel("c"), Pattern("p*")} {
		m := &member{sub: sub, key: topicKey{Topic: key}}
		b.restore(m, s, at(0))
		f.topics[key] = &topic{key: m.key, members: []*member{m}, live: true}
	}
	for kind, words := range map[string][]string{
		"channel": {"message", "c"},
		"pattern": {"pmessage", "p*", "pcd"},
	} {
		push := redis.Push{Body: make([]byte, 16)}
		for _, word := range words {
			push.Words = append(push.Words, []byte(word))
		}
		allocs := testing.AllocsPerRun(1000, func() {
			require.NoError(t, s.take(&push))
			ev, _ := b.next()
			require.NotNil(t, ev)
		})
		assert.LessOrEqual(t, allocs, 1.0, kind)
	}
}
