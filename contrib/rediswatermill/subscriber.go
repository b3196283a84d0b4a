package rediswatermill

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/joomcode/redispipe/redis"
)

// A message that was not acknowledged is delivered again after a pause, which doubles up to a bound.
const (
	pauseFirst = 10 * time.Millisecond
	pauseMost  = time.Second
)

// Subscriber reads streams as a consumer of a group, by a [redis.GroupReader]: each message of a topic goes to one
// subscriber of the group, at least once. It implements [message.Subscriber], and is safe for concurrent
// use.
type Subscriber struct {
	sender redis.Sender
	opts   redis.GroupOpts
	logger watermill.LoggerAdapter

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu      sync.Mutex // held while running grows, so that no Subscribe adds to it after Close
	running sync.WaitGroup
}

var _ message.Subscriber = (*Subscriber)(nil)

// NewSubscriber returns a subscriber. opts.Group is required, and opts.Stream is set by Subscribe. If opts.Consumer is
// empty, each subscription has a name of its own; it stays in the group when the
// subscription ends, and others get its unfinished messages after opts.MinIdle. With a name, subscribe to
// each topic only once, and in one process: after a restart the subscription then continues at once. The logger
// gets errors of reading, after which the subscription continues. NewSubscriber returns a redis.ErrGroupOpts if
// the options are invalid.
func NewSubscriber(s redis.Sender, opts redis.GroupOpts, logger watermill.LoggerAdapter) (*Subscriber, error) {
	if opts.MinIdle == 0 {
		opts.MinIdle = time.Minute
	}
	sub := &Subscriber{sender: s, opts: opts, logger: logger}
	if logger == nil {
		sub.logger = watermill.NopLogger{}
	}
	if _, err := sub.reader("topic"); err != nil {
		return nil, err
	}
	sub.ctx, sub.cancel = context.WithCancel(context.Background())
	return sub, nil
}

func (s *Subscriber) reader(topic string) (*redis.GroupReader, error) {
	opts := s.opts
	opts.Stream = topic
	if opts.Consumer == "" {
		opts.Consumer = rand.Text()
	}
	return redis.NewGroupReader(s.sender, opts)
}

// Subscribe returns the messages of a topic, one at a time: the next one comes after Ack. A group that does not
// exist is created, and starts with the oldest message, or after opts.Start.
//
// After Nack the message is delivered again: at first to the same channel, with growing pauses, until half of
// opts.MinIdle has passed. Then the subscription continues with other messages, and the message is delivered
// again after opts.MinIdle, to any subscriber of the group, until it was delivered opts.MaxDeliveries times.
// The channel is closed when ctx is done, the subscriber is closed, or the client is closed.
func (s *Subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	reader, err := s.reader(topic)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, ErrClosed
	}
	sub := &subscription{
		reader: reader, out: make(chan *message.Message), patience: s.opts.MinIdle / 2,
		logger: s.logger.With(watermill.LogFields{"topic": topic, "group": s.opts.Group}),
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	s.running.Go(func() {
		defer cancel()
		defer stop()
		sub.run(ctx)
	})
	return sub.out, nil
}

// Close ends all subscriptions. It waits until they have sent XACK for all messages that their handlers have
// acknowledged. The Sender remains open.
func (s *Subscriber) Close() error {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// A subscription passes the messages of a topic on.
type subscription struct {
	reader   *redis.GroupReader
	out      chan *message.Message
	patience time.Duration
	logger   watermill.LoggerAdapter
}

// run reads the stream. Subscribe starts it; it owns the reader and the channel, and ends with ctx.
func (s *subscription) run(ctx context.Context) {
	defer close(s.out)
	for entry, err := range s.reader.Messages(ctx) {
		if err != nil {
			if ctx.Err() == nil {
				s.logger.Error("reading a stream failed", err, nil)
			}
			continue
		}
		if !s.deliver(ctx, entry) {
			continue
		}
		if err := s.reader.Ack(entry.ID); err != nil {
			s.logger.Error("acknowledging a message failed", err, nil)
		}
	}
}

// deliver reports whether the message of an entry was acknowledged.
func (s *subscription) deliver(ctx context.Context, entry redis.Message) bool {
	msg, err := Decode(entry)
	if err != nil {
		s.logger.Error("an entry is not a message", err, nil)
		return false // it counts as delivered, and may end in the dead letters
	}
	begin := time.Now()
	for pause := pauseFirst; ; pause = min(2*pause, pauseMost) {
		acked, nacked := s.offer(ctx, msg.Copy())
		if !nacked || time.Since(begin)+pause > s.patience {
			return acked
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
	}
}

// offer passes a message on, and waits for its Ack or Nack.
func (s *subscription) offer(ctx context.Context, msg *message.Message) (acked, nacked bool) {
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	msg.SetContext(own)
	select {
	case s.out <- msg:
	case <-ctx.Done():
		return false, false
	}
	select {
	case <-msg.Acked():
		return true, false
	case <-msg.Nacked():
		return false, true
	case <-ctx.Done():
	}
	select {
	case <-msg.Acked(): // in time
		return true, false
	default:
		return false, false
	}
}
