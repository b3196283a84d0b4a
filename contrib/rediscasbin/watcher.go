// Package rediscasbin is a watcher for [github.com/casbin/casbin/v3]: if one process has changed the policy, the
// others load it again.
//
//	watcher, err := rediscasbin.New(ctx, client, "policy")
//	…
//	enforcer, err := casbin.NewSyncedEnforcer(model, adapter)
//	…
//	err = enforcer.SetWatcher(watcher)
//	…
//	err = watcher.SetUpdateCallback(func(string) { err := enforcer.LoadPolicy(); … })
//
// It also fits casbin v2. The guide is docs/adapters.md.
package rediscasbin

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redispubsub"
)

var (
	// ErrCallback is returned by SetUpdateCallback for nil.
	ErrCallback = errors.New("rediscasbin: no callback")
	// ErrClosed is returned by Update after Close. The other watchers are not told.
	ErrClosed = errors.New("rediscasbin: the watcher is closed")
)

// Watcher tells the watchers of other processes, by a Pub/Sub message, that the policy has changed. It calls its
// callback when another watcher has sent such a message, or when messages may have been lost. It implements
// casbin's persist.Watcher, and is safe for concurrent use.
type Watcher struct {
	db      *redispipe.Client
	channel string
	id      string

	closed context.Context // ends with Close
	cancel context.CancelFunc
	ended  chan struct{}
	ready  chan struct{} // closed when a callback is set

	mu       sync.Mutex // guards callback
	callback func(string)
}

// New returns a watcher that has subscribed to the channel. All watchers of a policy must use the same channel, and the
// client's user needs permission for it. Create the watcher before the enforcer loads the policy: then
// no change is missed in between. ctx limits only this call. The error is that of
// redispubsub.Subscription.Subscribe. End the watcher with Close.
func New(ctx context.Context, client *redispipe.Client, channel string) (*Watcher, error) {
	// Each call of the callback covers all earlier messages, so one message in the buffer is enough. If
	// others are dropped, there is a gap, which also causes a call.
	sub := client.Subscriber().NewSubscription(redispubsub.SubscriptionOpts{MaxMessages: 1})
	if err := sub.Subscribe(ctx, redispubsub.Channel(channel)); err != nil {
		sub.Close()
		return nil, err
	}
	running, cancel := context.WithCancel(context.Background())
	w := &Watcher{
		db: client, channel: channel, id: rand.Text(),
		closed: running, cancel: cancel, ended: make(chan struct{}), ready: make(chan struct{}),
	}
	go w.watch(running, sub)
	return w, nil
}

// watch calls the callback. New starts it; it owns the subscription, and ends with Close, or with the client if there is a callback.
func (w *Watcher) watch(ctx context.Context, sub *redispubsub.Subscription) {
	defer close(w.ended)
	defer sub.Close()
	for event, err := range sub.Events(ctx) {
		by := ""
		switch event := event.(type) {
		case redispubsub.Message:
			by = string(event.Payload)
		case redispubsub.Gap:
			if event.Open() {
				continue // the subscription delivers the gap again when the gap has ended
			}
		}
		if err != nil || by == w.id {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-w.ready:
		}
		w.mu.Lock()
		callback := w.callback
		w.mu.Unlock()
		if ctx.Err() == nil {
			callback(by)
		}
	}
}

// SetUpdateCallback sets the function that is called when the policy has changed, in a goroutine of the watcher and one
// call at a time. Its argument is the ID of the other watcher, or empty if messages may have been lost. If
// the policy has changed before there is a callback, it is called at once.
//
// Call SetUpdateCallback after SetWatcher, with a function that calls casbin.SyncedEnforcer.LoadPolicy.
// SetWatcher itself sets a callback that ignores errors.
func (w *Watcher) SetUpdateCallback(callback func(string)) error {
	if callback == nil {
		return ErrCallback
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.callback == nil {
		close(w.ready)
	}
	w.callback = callback
	return nil
}

// Update tells the other watchers that the policy has changed. The enforcer calls it. It returns the error of the
// client. After an error, call it again, which is safe. If the error matches redis.ErrUnknown, the other watchers
// may have got the message.
func (w *Watcher) Update() error {
	if w.closed.Err() != nil {
		return ErrClosed
	}
	return redis.Err(w.db.Do(context.Background(), "PUBLISH", w.channel, w.id))
}

// Close ends the watcher. If the callback is running, Close waits until it returns, so the callback must not call
// Close. The client remains open.
func (w *Watcher) Close() {
	w.cancel()
	<-w.ended
}
