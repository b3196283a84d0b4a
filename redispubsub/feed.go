package redispubsub

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/joomcode/redispipe/internal/inbox"
	"github.com/joomcode/redispipe/internal/pause"
	"github.com/joomcode/redispipe/internal/wanted"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

const (
	// After a failure to connect, or a socket of no use, the pause before the next
	// attempt is drawn at random up to a bound, which doubles from the first to the
	// longest: that of redisconn.Opts.ReconnectPause.
	pauseFirst   = 20 * time.Millisecond
	pauseLongest = 500 * time.Millisecond
	// A session that lived for so long was of use: the next one is dialed at once.
	usefulLeast = 100 * time.Millisecond
)

// attend is the goroutine of a feed: it dials, receives, and dials again. It is started with
// the first topic, and ends when none is left.
func (s *Subscriber) attend(f *wanted.Feed) {
	for failures := 0; f.Ctx.Err() == nil; {
		began := time.Now()
		sock, err := f.Node.OpenPush(f.Ctx)
		if err == nil {
			s.receive(newSession(s, f, sock))
		} else if f.Ctx.Err() == nil {
			s.failed(f, err)
		}
		if f.Ctx.Err() != nil {
			return
		}
		s.nodes.ForceReloading()
		inbox.Signal(s.toPlace) // another node may have to be asked
		if err == nil && time.Since(began) >= usefulLeast {
			failures = 0
			continue
		}
		failures++
		_, _ = pause.For(f.Ctx, rand.N(pause.Doubled(pauseFirst, pauseLongest, failures)), nil)
	}
}

// receive takes what comes by a socket, until it ends.
func (s *Subscriber) receive(sess *session) {
	f, sock := sess.feed, sess.sock
	defer context.AfterFunc(f.Ctx, sock.Close)()
	s.mu.Lock()
	s.sessions[f] = sess
	f.Connected(sock)
	s.unlock()
	s.report(LogConnected{Addr: sock.Addr()})
	err := sess.receive()
	sock.Close()
	s.mu.Lock()
	delete(s.sessions, f)
	s.ended.add(sess)
	f.Lost(err)
	s.unlock()
	s.report(LogDisconnected{Addr: sock.Addr(), Error: err})
}

// failed notes that no socket could be made.
func (s *Subscriber) failed(f *wanted.Feed, err error) {
	s.report(LogConnectFailed{Addr: f.Node.Addr(), Error: err})
	s.mu.Lock()
	defer s.unlock()
	f.Failed(err, redis.AsErrorx(err).HasTrait(redisconn.ErrTraitInitPermanent))
}

// closeSet removes the topics of a subscription.
func (s *Subscriber) closeSet(set *wanted.Set) {
	s.mu.Lock()
	defer s.unlock()
	set.Close()
}
