// Package rediswatermill is a publisher and a subscriber for [github.com/ThreeDotsLabs/watermill], on streams of
// Redis. A topic is a stream:
//
//	publisher := rediswatermill.NewPublisher(client, rediswatermill.PublisherOpts{})
//	subscriber, err := rediswatermill.NewSubscriber(client, redis.GroupOpts{Group: "billing"}, logger)
//
// The guide is docs/adapters.md.
package rediswatermill

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/joomcode/redispipe/redis"
)

// ErrClosed is returned after Close. Nothing was sent.
var ErrClosed = errors.New("rediswatermill: closed")

// An entry of a stream has these fields, and one for each item of the metadata.
const (
	fieldUUID     = "uuid"
	fieldPayload  = "payload"
	metadataStart = "metadata:"
)

// PublisherOpts are the options of a [Publisher].
type PublisherOpts struct {
	// MaxLen is about how many entries a stream keeps: Publish removes older ones, also unread ones. Default 0:
	// all.
	MaxLen int64
}

// Publisher adds messages to streams. It implements [message.Publisher], and is safe for concurrent use.
type Publisher struct {
	db     redis.SyncCtx
	opts   PublisherOpts
	closed atomic.Bool
}

var _ message.Publisher = (*Publisher)(nil)

// NewPublisher returns a publisher.
func NewPublisher(s redis.Sender, opts PublisherOpts) *Publisher {
	return &Publisher{db: redis.SyncCtx{S: s}, opts: opts}
}

// Publish adds messages to the end of the stream, all or none: several are added in one transaction. It
// returns when the server has added them, or when the context of the first message is done.
//
// The error is that of the Sender. If it matches redis.ErrUnknown, the messages may be in the stream, and
// publishing them again may add them twice.
func (p *Publisher) Publish(topic string, messages ...*message.Message) error {
	if p.closed.Load() {
		return ErrClosed
	}
	if len(messages) == 0 {
		return nil
	}
	reqs := make([]redis.Request, len(messages))
	for i, msg := range messages {
		reqs[i] = redis.Req("XADD", p.entry(topic, msg)...)
	}
	ctx := messages[0].Context()
	if len(reqs) == 1 {
		return redis.Err(p.db.Send(ctx, reqs[0]))
	}
	_, err := p.db.Transact(ctx, reqs)
	return err
}

func (p *Publisher) entry(topic string, msg *message.Message) []any {
	args := []any{topic}
	if p.opts.MaxLen > 0 {
		args = append(args, "MAXLEN", "~", p.opts.MaxLen)
	}
	args = append(args, "*", fieldUUID, msg.UUID, fieldPayload, []byte(msg.Payload))
	for key, value := range msg.Metadata {
		args = append(args, metadataStart+key, value)
	}
	return args
}

// Close makes later calls of Publish fail. There is nothing to flush, and the Sender remains open.
func (p *Publisher) Close() error {
	p.closed.Store(true)
	return nil
}

// Decode returns the message of an entry, such as one that redis.GroupOpts.DeadLetter gets.
func Decode(entry redis.Message) (*message.Message, error) {
	fields, err := redis.As[map[string][]byte](entry.Fields)
	if err != nil {
		return nil, err
	}
	payload, found := fields[fieldPayload]
	if !found {
		return nil, fmt.Errorf("rediswatermill: entry %s has no field %s", entry.ID, fieldPayload)
	}
	msg := message.NewMessage(string(fields[fieldUUID]), payload)
	for name, value := range fields {
		if key, is := strings.CutPrefix(name, metadataStart); is {
			msg.Metadata.Set(key, string(value))
		}
	}
	return msg, nil
}
