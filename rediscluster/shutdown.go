package rediscluster

import (
	"context"
	"maps"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/redisconn"
)

// Shutdown refuses new requests (with [redis.ErrContextClosed], not sent),
// waits until the accepted ones are answered or ctx is done, and closes the
// cluster. If requests are left when ctx is done, they fail as with Close, and Shutdown returns an
// [ErrShutdown] with their number: those on a connection may have run, those
// between two attempts have not.
func (c *Cluster) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return redis.Err(errs.NilContext())
	}
	if !c.opened() {
		return nil
	}
	c.draining.Store(true)
	defer c.Close()
	for l := range c.refresher.links() {
		l.Backend.DrainBeside()
	}
	poll := time.NewTicker(shutdownPoll)
	defer poll.Stop()
	for !c.closed.Load() {
		sent, waiting := c.unanswered()
		if sent+waiting == 0 {
			return c.closeLinks(ctx)
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return redis.Err(c.withCluster(ErrShutdown.Wrap(lifetime.Reason(ctx),
				"requests that are not answered and may have run: %d; that wait for another attempt: %d", sent, waiting)))
		}
	}
	return nil
}

// unanswered counts the requests on connections (from the cluster, a scanner, or a user
// who got the connection from EachShard) and the requests that wait for another attempt.
func (c *Cluster) unanswered() (sent, waiting int64) {
	waiting = c.waiting.Load()
	for l := range c.refresher.links() {
		sent += int64(l.Conn.Pending())
	}
	return max(sent, c.accepted.Load()-waiting), waiting
}

// shutdownPoll is how often Shutdown checks whether all requests are answered. Polling is good enough
// for a method that is called once.
const shutdownPoll = 2 * time.Millisecond

// closeLinks shuts the connections down, after each has answered the requests that it has accepted. Users
// may have sent some of these requests over a connection from EachShard.
func (c *Cluster) closeLinks(ctx context.Context) error {
	for l := range c.refresher.links() {
		if err := l.Conn.Shutdown(ctx); err != nil {
			return redis.Err(c.withCluster(ErrShutdown.Wrap(err, "one of the connections")))
		}
	}
	return nil
}

const (
	// leftDelay is how long a node that has left a cluster still accepts requests from
	// callers that read the topology before it changed.
	leftDelay = 100 * time.Millisecond
	// Without a cluster, a replaced master may be silent for answerLooks looks in a row before it has
	// answered its last requests, or for unreadLooks if replies have arrived that nobody has read:
	// then this process is slow, not the server. That is short, because the old master may be paused
	// while another takes its place, and all callers may be waiting for it.
	answerLook  = 25 * time.Millisecond
	answerLooks = 2
	unreadLooks = 6
)

// made records a new link before the topology has it, so that operations on all links also cover nodes
// that are about to join the topology or have left it.
func (r *refresher) made(l *route.Link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[l] = struct{}{}
}

// closeLeft closes links that the topology no longer has, once their requests
// are answered. It returns at once; its goroutines end with the last answer or with the
// cluster.
func (r *refresher) closeLeft(links map[*route.Link]struct{}) {
	for l := range links {
		if r.c.rules.Sharded {
			time.AfterFunc(leftDelay, func() { r.close(r.c.ctx, l) })
		} else {
			stopped := l.Backend.StopWrites()
			go r.closeSoon(l, stopped)
		}
	}
}

// closeSoon closes a link to a server that was replaced as master but may still behave as one. It waits
// for the answers to the requests that were written, while they arrive. closeSoon is a goroutine, and
// ends with the last answer or when the server falls silent.
func (r *refresher) closeSoon(l *route.Link, stopped <-chan struct{}) {
	ctx, cancel := context.WithCancel(r.c.ctx)
	defer cancel()
	go func() { // ends with ctx
		defer cancel()
		awaitSilence(ctx, l)
	}()
	select {
	case <-stopped:
	case <-ctx.Done():
	}
	if !l.Conn.ConnectedNow() {
		cancel()
	}
	r.close(ctx, l)
}

// awaitSilence returns when no more answers to the requests on a link arrive, or when ctx is done.
func awaitSilence(ctx context.Context, l *route.Link) {
	before := l.Backend.Flight()
	for silent := 0; silent < answerLooks || silent < unreadLooks && l.Backend.Unread(); {
		if _, err := lifetime.Pause(ctx, answerLook, nil); err != nil {
			return
		}
		now := l.Backend.Flight()
		if silent++; now.Pending > 0 && now.Mark != before.Mark {
			before, silent = now, 0
		}
	}
}

// close stops the connection from accepting requests, which then go elsewhere. It closes
// the connection when all requests are answered or ctx is done, and forgets it.
func (r *refresher) close(ctx context.Context, l *route.Link) {
	_ = l.Conn.Shutdown(ctx)
	stats := l.Conn.Stats()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, l)
	r.closed.Merge(stats)
}

// links returns the links that are not closed.
func (r *refresher) links() map[*route.Link]struct{} {
	links, _ := r.linksAndClosed()
	return links
}

// linksAndClosed returns the open links, and the sum of the statistics of the closed ones. Each link
// is in exactly one of the two.
func (r *refresher) linksAndClosed() (map[*route.Link]struct{}, redisconn.Stats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var closed redisconn.Stats // a copy that does not share the histograms of r.closed
	closed.Merge(r.closed)
	return maps.Clone(r.open), closed
}
