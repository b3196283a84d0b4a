package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redispubsub"
)

const (
	// chatRooms are sharded channels, in slots that the demonstration moves.
	chatRooms = 8
	chatEvery = 2 * time.Millisecond
)

// chat is a load on a cluster: several people talk in rooms, and one subscriber reads everything.
type chat struct {
	db         redis.SyncCtx
	subscriber *redispubsub.Subscriber
	sub        *redispubsub.Subscription
	cancel     context.CancelFunc
	all        sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	rooms map[string]*room
	read  int64
	gaps  int
	// missed messages lie in a reported gap, lost messages do not
	missed, lost int64
	longest      time.Duration // of the gaps
}

// room counts the messages in a room, which are numbered, and what happened to them.
type room struct {
	next, last int
	doubtful   map[int]bool // SPUBLISH failed: nobody knows whether it ran
	gap        bool         // there was a gap since the last message
}

// startChat makes people talk in all rooms. If the servers have no sharded channels, it returns nil
// and no error.
func startChat(ctx context.Context, cluster *rediscluster.Cluster) (*chat, error) {
	subscriber, err := redispubsub.NewCluster(cluster, redispubsub.Opts{Logger: redispubsub.NoopLogger{}})
	if err != nil {
		return nil, err
	}
	c := &chat{
		db: redis.SyncCtx{S: cluster}, subscriber: subscriber, rooms: map[string]*room{},
		sub: subscriber.NewSubscription(redispubsub.SubscriptionOpts{}),
	}
	var topics []redispubsub.Topic
	for i := range chatRooms {
		name := "room:{" + key(i) + "}"
		c.rooms[name] = &room{last: -1, doubtful: map[int]bool{}}
		topics = append(topics, redispubsub.Sharded(name))
	}
	ctx, c.cancel = context.WithCancel(ctx)
	if err := c.sub.Subscribe(ctx, topics...); err != nil {
		c.stop()
		if failed := (*redispubsub.SubscribeError)(nil); errors.As(err, &failed) {
			err = nil // servers before 7.0 have no sharded channels
		}
		return nil, err
	}
	c.all.Go(c.listen)
	for name, r := range c.rooms {
		c.all.Go(func() { c.talk(ctx, name, r) })
	}
	return c, nil
}

// talk publishes in a room from time to time, until ctx is done.
func (c *chat) talk(ctx context.Context, name string, r *room) {
	for ctx.Err() == nil {
		c.mu.Lock()
		n := r.next
		r.next++
		c.mu.Unlock()
		if err := redis.AsError(c.db.Do(ctx, "SPUBLISH", name, n)); err != nil {
			c.mu.Lock()
			r.doubtful[n] = true
			c.mu.Unlock()
		}
		pause(ctx, chatEvery)
	}
}

// listen receives the messages of all rooms until the subscription is closed.
func (c *chat) listen() {
	for ev, err := range c.sub.Events(context.Background()) {
		if err != nil {
			return
		}
		c.mu.Lock()
		switch ev := ev.(type) {
		case redispubsub.Message:
			c.heard(c.rooms[ev.Channel], ev.Payload)
		case redispubsub.Gap:
			for _, topic := range ev.Topics {
				c.rooms[topic.Name].gap = true
			}
			if !ev.Open() {
				c.gaps++
				c.longest = max(c.longest, ev.To.Sub(ev.From))
			}
		}
		c.mu.Unlock()
	}
}

// heard records a message, and the missing messages before it.
func (c *chat) heard(r *room, payload []byte) {
	n, err := strconv.Atoi(string(payload))
	if err != nil {
		return
	}
	c.read++
	for missing := r.last + 1; missing < n; missing++ {
		switch {
		case r.doubtful[missing]:
		case r.gap:
			c.missed++
		default:
			c.lost++
		}
	}
	r.last, r.gap = max(r.last, n), false
}

// stop ends the chat.
func (c *chat) stop() {
	c.cancel()
	c.subscriber.Close()
	c.all.Wait()
}

// report ends the chat and prints the counts. It returns an error if a message is missing without a
// gap.
func (c *chat) report() error {
	if c == nil {
		return nil
	}
	c.stop()
	paragraph(fmt.Sprintf("A chat went on in %d rooms (sharded channels): %s messages were read, and %s were missed "+
		"while a room had no socket to its master. The subscriber reported these times as %d gaps, the longest of %s.",
		chatRooms, thousands(c.read), thousands(c.missed), c.gaps, round(c.longest)))
	if c.lost > 0 {
		return fmt.Errorf("%d messages are missing, and in no gap", c.lost)
	}
	return nil
}
