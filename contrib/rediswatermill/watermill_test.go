package rediswatermill

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/testbed"
)

// patience is longer than any pause of a busy machine.
const patience = time.Minute

func TestMain(m *testing.M) {
	testbed.RequireRedis()
	m.Run()
}

func opened(t *testing.T) (*testbed.Server, *redispipe.Client) {
	t.Helper()
	server := testbed.NewServer(t)
	db, err := redispipe.Open(context.Background(), "redis://"+server.Addr(), redispipe.Logger(nil),
		redispipe.Conn(func(o *redisconn.Opts) { o.DedicatedConns = 1000 }))
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return server, db
}

func subscriber(t *testing.T, s redis.Sender, opts redis.GroupOpts) *Subscriber {
	t.Helper()
	sub, err := NewSubscriber(s, opts, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = sub.Close() })
	return sub
}

// TestSuite runs watermill's suite for publishers and subscribers, in the short form unless REDISPIPE_LONG is set.
func TestSuite(t *testing.T) {
	_, db := opened(t)
	group := func(t *testing.T, group string) (message.Publisher, message.Subscriber) {
		return NewPublisher(db, PublisherOpts{}), subscriber(t, db, redis.GroupOpts{Group: group, MinIdle: 5 * time.Second})
	}
	tests.TestPubSub(t, tests.Features{
		ConsumerGroups: true, GuaranteedOrderWithSingleSubscriber: true, Persistent: true,
		NewSubscriberReceivesOldMessages: true, ForceShort: os.Getenv("REDISPIPE_LONG") == "",
	}, func(t *testing.T) (message.Publisher, message.Subscriber) {
		return group(t, watermill.NewShortUUID())
	}, group)
}

// A message arrives as it was published. After Nack it arrives again, and after Ack it does not, even if the subscriber
// restarts.
func TestDelivery(t *testing.T) {
	server, db := opened(t)
	publisher := NewPublisher(db, PublisherOpts{MaxLen: 1000})
	var sent []*message.Message
	for _, id := range []string{"a", "b", "", "d"} {
		msg := message.NewMessage(id, []byte("payload\x00 of "+id))
		msg.Metadata.Set("key", "value of "+id)
		msg.Metadata.Set("", "")
		sent = append(sent, msg)
	}
	require.NoError(t, publisher.Publish("topic", sent[:3]...))
	require.NoError(t, publisher.Publish("topic", sent[3]))
	require.NoError(t, publisher.Publish("topic"))

	opts := redis.GroupOpts{Group: "group", Consumer: "consumer", MinIdle: patience}
	first := subscriber(t, db, opts)
	messages, err := first.Subscribe(t.Context(), "topic")
	require.NoError(t, err)
	for i := range 2 {
		for range 3 {
			msg := <-messages
			require.True(t, sent[i].Equals(msg), msg)
			require.NoError(t, msg.Context().Err())
			require.True(t, msg.Nack())
			<-msg.Context().Done()
		}
		require.True(t, (<-messages).Ack())
	}
	third := <-messages
	require.NoError(t, first.Close())
	<-third.Context().Done()
	require.True(t, third.Ack()) // too late: the message will be delivered again
	_, open := <-messages
	require.False(t, open)
	_, err = first.Subscribe(t.Context(), "topic")
	require.ErrorIs(t, err, ErrClosed)

	ctx, cancel := context.WithCancel(t.Context())
	messages, err = subscriber(t, db, opts).Subscribe(ctx, "topic")
	require.NoError(t, err)
	for _, want := range sent[2:] {
		msg := <-messages
		require.True(t, want.Equals(msg), msg)
		msg.Ack()
	}
	cancel()
	_, open = <-messages
	require.False(t, open)
	pending, err := redis.As[[]any](server.Do("XPENDING", "topic", "group"))
	require.NoError(t, err)
	require.Equal(t, int64(0), pending[0])
}

// A message that nobody acknowledges goes to another subscriber, and finally to the dead letters.
func TestDeadLetter(t *testing.T) {
	server, db := opened(t)
	dead := make(chan *message.Message, 1)
	opts := redis.GroupOpts{
		Group: "group", MinIdle: 20 * time.Millisecond, Block: 20 * time.Millisecond, MaxDeliveries: 2,
		DeadLetter: func(_ context.Context, entry redis.Message) error {
			msg, err := Decode(entry)
			if err == nil {
				dead <- msg
			}
			return nil // after an error the message would be delivered again
		},
	}
	require.NoError(t, NewPublisher(db, PublisherOpts{}).Publish("topic", message.NewMessage("a", nil)))
	require.NoError(t, redis.Err(server.Do("XADD", "topic", "*", "not a", "message")))
	messages, err := subscriber(t, db, opts).Subscribe(t.Context(), "topic")
	require.NoError(t, err)
	for {
		select {
		case msg := <-messages:
			require.Equal(t, "a", msg.UUID)
			msg.Nack()
			continue
		case msg := <-dead:
			require.Equal(t, "a", msg.UUID)
		}
		break
	}
}

// The error of Publish shows whether messages may be in the stream. Several messages are added in one transaction.
func TestPublish(t *testing.T) {
	mock := redistest.NewMock(t)
	entry := func(id string) redis.Request {
		return redis.Req("XADD", "topic", "MAXLEN", "~", 7, "*", "uuid", id, "payload", "x")
	}
	mock.Expect("XADD", "topic", "MAXLEN", "~", 7, "*", "uuid", "a", "payload", "x").Unknown()
	mock.ExpectTransaction(entry("a"), entry("b")).NotSent()
	publisher := NewPublisher(mock, PublisherOpts{MaxLen: 7})
	a, b := message.NewMessage("a", []byte("x")), message.NewMessage("b", []byte("x"))
	require.ErrorIs(t, publisher.Publish("topic", a), redis.ErrUnknown)
	require.ErrorIs(t, publisher.Publish("topic", a, b), redis.ErrNotSent)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.SetContext(ctx)
	require.ErrorIs(t, publisher.Publish("topic", a), context.Canceled)
	require.NoError(t, publisher.Close())
	require.NoError(t, publisher.Close())
	require.ErrorIs(t, publisher.Publish("topic", b), ErrClosed)
}

func TestOpts(t *testing.T) {
	mock := redistest.NewMock(t)
	for _, opts := range []redis.GroupOpts{{}, {Group: "group", Start: "$"}, {Group: "group", MaxDeliveries: 1}} {
		_, err := NewSubscriber(mock, opts, nil)
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrGroupOpts), err)
	}
	_, err := subscriber(t, mock, redis.GroupOpts{Group: "group"}).Subscribe(t.Context(), "")
	require.Error(t, err)
}
