package redispubsub

import (
	"context"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/internal/push"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
	"github.com/joomcode/redispipe/redispubsub/internal/subscriptions"
)

// If two sessions wait for room in the same inbox, both continue, even if one of them no longer has to
// deliver its message.
func TestRoomIsPassedOn(t *testing.T) {
	for range 50 { // the order in which the sockets begin to wait varies
		in := inbox.New(inbox.Opts{Policy: inbox.Block, MaxMessages: 1, MaxBytes: 1 << 20, MessageOf: messageOf}, &inbox.Counts{})
		sub := &Subscription{set: &subscriptions.Set{Inbox: in}}
		var sessions []*session
		var members []*subscriptions.Member
		for i := range 2 {
			s := newSession(&Subscriber{}, &subscriptions.Feed{Ctx: t.Context()}, &push.Socket{})
			m := &subscriptions.Member{Set: sub.set, Intake: in.NewIntake(inbox.Source{Topic: Channel(strconv.Itoa(i))}, time.Time{})}
			m.Intake.Restore(s.sock, time.Unix(0, 0))
			sessions, members = append(sessions, s), append(members, m)
		}
		var delivering sync.WaitGroup
		deliver := func(i int) { sessions[i].deliver(members[i], Message{Channel: strconv.Itoa(i)}, 1) }
		deliver(1)
		for i := range 2 {
			delivering.Go(func() { deliver(i) })
		}
		runtime.Gosched()
		members[0].Intake.Lose(sessions[0].sock, time.Unix(1, 0), inbox.SlotMoved, nil)
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

// anyNode is a backend.Nodes without nodes.
type anyNode struct{ backend.Nodes }

func (anyNode) Addr() string                                       { return "node" }
func (anyNode) OpenPush(ctx context.Context) (*push.Socket, error) { return nil, ctx.Err() }
func (n anyNode) Publisher(int) backend.Node                       { return n }
func (anyNode) Changed() <-chan struct{}                           { return nil }
func (n anyNode) All() (masters, replicas []backend.Node, since time.Time) {
	return []backend.Node{n}, nil, time.Time{}
}

// A message costs one allocation beside its payload, from the socket to the consumer.
func TestAllocationsOfAMessage(t *testing.T) {
	var feed *subscriptions.Feed
	subscriber := &Subscriber{ctx: t.Context(), table: subscriptions.New(t.Context(), anyNode{}, false, make(chan struct{}, 1), func(f *subscriptions.Feed) { feed = f })}
	sub := subscriber.NewSubscription(SubscriptionOpts{})
	_, err := sub.set.Add([]pubsub.Topic{Channel("c"), Pattern("p*")})
	require.NoError(t, err)
	s := newSession(subscriber, feed, &push.Socket{})
	feed.Connected(s.sock)
	reqs := subscriber.table.Asks()[s.sock]
	require.Len(t, reqs, 4, "two commands, each with a fence")
	for ; len(reqs) > 0; reqs = reqs[2:] {
		notice := pubsub.Notice{Type: pubsub.Subscribed, Name: []byte(reqs[0].Args[0].(string))}
		if reqs[0].Cmd == "PSUBSCRIBE" {
			notice.Kind = pubsub.Pattern
		}
		require.NoError(t, feed.Confirmed(notice, time.Now()))
		require.NoError(t, feed.Answer([]byte(reqs[1].Args[0].(string))))
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
			ev, _ := sub.set.Inbox.Next()
			require.NotNil(t, ev)
		})
		assert.LessOrEqual(t, allocs, 1.0, kind)
	}
}

// The memory for names of channels is bounded, whatever names a publisher uses.
func TestNamesOfChannels(t *testing.T) {
	s := newSession(&Subscriber{}, nil, nil)
	for i := range 2 * namesMost {
		for _, name := range []string{strconv.Itoa(i), strconv.Itoa(i) + strings.Repeat("x", nameMost)} {
			assert.Equal(t, name, s.name([]byte(name)))
		}
	}
	assert.LessOrEqual(t, len(s.names), namesMost)
	for name := range s.names {
		assert.LessOrEqual(t, len(name), nameMost)
	}
}
