package redispubsub

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/joomcode/redispipe/internal/inner"
	"github.com/joomcode/redispipe/internal/pause"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// feed is a node with topics, and the socket that their messages come by. What follows
// cancel is guarded by Subscriber.mu.
type feed struct {
	s      *Subscriber
	key    feedKey
	ctx    context.Context // ends when no topic is left
	cancel context.CancelFunc

	topics map[Topic]*topic
	// dirty are the topics to be asked for, or to be unsubscribed.
	dirty   map[*topic]struct{}
	session *session // nil while there is none
	state   SocketState
	changed time.Time // when state has changed
	err     error     // why there is no session
}

type feedKey struct {
	conn  inner.Node
	owner *Subscription // as in topicKey
}

// feedLocked returns the feed of a node, made if there is none.
func (s *Subscriber) feedLocked(key feedKey) *feed {
	f := s.feeds[key]
	if f == nil {
		f = &feed{s: s, key: key, topics: map[Topic]*topic{}, dirty: map[*topic]struct{}{}, changed: time.Now()}
		f.ctx, f.cancel = context.WithCancel(s.ctx)
		s.feeds[key] = f
		go f.run()
	}
	return f
}

// run is the feed's goroutine: it dials, receives, and dials again. It is started with
// the first topic, and ends when none is left.
func (f *feed) run() {
	for failures := 0; f.ctx.Err() == nil; {
		began := time.Now()
		sock, err := f.key.conn.OpenPush(f.ctx)
		if err == nil {
			f.attend(sock)
		} else if f.ctx.Err() == nil {
			f.failed(err)
		}
		if f.ctx.Err() != nil {
			return
		}
		f.s.nodes.ForceReloading()
		signal(f.s.poke) // another node may have to be asked
		if time.Since(began) < usefulLeast || sock == nil {
			failures++
		} else {
			failures = 0
		}
		f.backOff(failures)
	}
}

// backOff waits before the next attempt.
func (f *feed) backOff(failures int) {
	if failures == 0 {
		return
	}
	_, _ = pause.For(f.ctx, rand.N(pause.Doubled(pauseFirst, pauseLongest, failures)), nil)
}

// attend receives what comes by a socket, until it ends.
func (f *feed) attend(sock *redisconn.PushSocket) {
	defer context.AfterFunc(f.ctx, sock.Close)()
	sess := newSession(f, sock)
	f.s.mu.Lock()
	f.session, f.err = sess, nil
	f.state, f.changed = SocketConnected, time.Now()
	for _, t := range f.topics {
		f.settleLocked(t)
	}
	f.s.mu.Unlock()
	f.s.report(LogConnected{Addr: sock.Addr()})
	f.reconcile()
	err := sess.receive()
	sock.Close()
	f.lost(sess, err)
	f.s.report(LogDisconnected{Addr: sock.Addr(), Error: err})
}

// failed notes that there is no socket. Callers that wait for the first confirmation get
// an error that will not pass; otherwise they go on waiting.
func (f *feed) failed(err error) {
	f.s.report(LogConnectFailed{Addr: f.key.conn.Addr(), Error: err})
	stays := redis.AsErrorx(err).HasTrait(redisconn.ErrTraitInitPermanent)
	touched := map[*feed]struct{}{}
	f.s.mu.Lock()
	f.err = err
	if f.state != SocketDown {
		f.state, f.changed = SocketDown, time.Now()
	}
	for _, t := range f.topics {
		for _, m := range t.members {
			if stays && len(m.calls) > 0 {
				f.s.refuseLocked(m, f, err, touched)
			}
		}
	}
	f.s.mu.Unlock()
	reconcileAll(touched)
}

// lost opens the gaps of a session that has ended.
func (f *feed) lost(sess *session, err error) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.session, f.err = nil, err
	f.s.counts.retire(sess)
	f.state, f.changed = SocketConnecting, time.Now()
	for _, t := range f.topics {
		t.asked, t.live, t.givenUp = nil, false, false
		f.openGapsLocked(t, sess, ConnectionLost, err)
		f.settleLocked(t)
	}
}

// openGapsLocked has the members of a topic miss what comes, by no wish of the user's. If
// another node has the topic, that one may have taken messages for as long as this one did
// not know; else nothing was lost before the server's last sign of life.
func (f *feed) openGapsLocked(t *topic, sess *session, reason Reason, err error) {
	from := sess.sock.Confirmed()
	if t.since.After(from) {
		from = t.since
	}
	from = from.Add(-f.s.lag)
	if unaware := time.Now().Add(-handoverMost); reason != ConnectionLost && f.s.lag > 0 && unaware.Before(from) {
		from = unaware
	}
	for _, m := range t.members {
		m.sub.buffer.lose(m, sess, from, reason, err)
	}
}

// settleLocked notes what is to be done about a topic, if anything, once its part in the
// batch in flight is over.
func (f *feed) settleLocked(t *topic) {
	if t.asked != nil {
		return
	}
	wanted := len(t.members) > 0
	_, delayed := f.s.delayed[t]
	switch {
	case !t.leaving.IsZero() && t.live:
		delete(f.dirty, t)
	case wanted && t.live && t.fences == 0:
		f.restoreLocked(t, time.Now())
		delete(f.dirty, t)
	case wanted && delayed:
		delete(f.dirty, t)
	case wanted, t.live:
		f.dirty[t] = struct{}{}
	default:
		f.removeLocked(t)
	}
}

// removeLocked takes a topic off the feed, which ends with its last one.
func (f *feed) removeLocked(t *topic) {
	delete(f.dirty, t)
	delete(f.topics, t.key.Topic)
	f.s.leftLocked(t)
	if t.gone != nil {
		close(t.gone)
		t.gone = nil
	}
	if len(f.topics) == 0 {
		delete(f.s.feeds, f.key)
		if f.session != nil {
			f.s.counts.retire(f.session)
		}
		f.cancel()
	}
}

// reconcileAll has feeds compare what is wanted and what they have.
func reconcileAll(feeds map[*feed]struct{}) {
	for f := range feeds {
		f.reconcile()
	}
}

// reconcile asks for what is wanted and not subscribed, and the other way round, unless
// the answers to the last batch of such commands are still to come.
func (f *feed) reconcile() {
	f.s.mu.Lock()
	sess := f.session
	if sess == nil || len(sess.inflight) > 0 || len(f.dirty) == 0 {
		f.s.mu.Unlock()
		return
	}
	sess.inflight = plan(f.dirty, time.Now())
	clear(f.dirty)
	var reqs []redis.Request
	for _, cmd := range sess.inflight {
		reqs = append(reqs, cmd.requests()...)
	}
	f.s.mu.Unlock()
	_ = sess.sock.Send(reqs...) // fails with the socket only
}
