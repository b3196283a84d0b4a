package dedicated

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/peer"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

const (
	// unblockLeast is how long an unblocked command may go unanswered after the end of
	// its caller's context before its connection is closed, so that the caller has its
	// result after 50 ms. It is many times what an answer takes on loopback
	// (BenchmarkBlockingCancelled).
	unblockLeast = 35 * time.Millisecond
	// unblockTrips is the same bound in round trips, for slow networks. Unblocking takes
	// two: one for CLIENT UNBLOCK, one for PING.
	unblockTrips = 5
	// unblockLongest bounds the time of unblockTrips, so that no caller waits longer after
	// its context has ended, however far away the server is.
	unblockLongest = 250 * time.Millisecond
	// unblockAgain is the pause before unblocking is tried again for a command that did
	// not block yet. It doubles each time.
	unblockAgain = time.Millisecond
)

// unblock makes the server end the command that blocks a connection, and waits until
// answered is closed. If that fails, or takes too long after the end of ctx, it closes the
// connection and returns false. A late CLIENT UNBLOCK may hit the connection's next
// command, which is then sent again.
func (p *Pool) unblock(ctx context.Context, c *Conn, answered <-chan struct{}) (alive bool) {
	ended := ctx.Done()
	var patience <-chan time.Time
	ask := time.NewTimer(0)
	defer ask.Stop()
	var reply <-chan any
	for pause := unblockAgain; ; {
		var n any
		select {
		case <-answered:
			return true
		case <-ended:
			ended, patience = nil, time.After(p.unblockMost(c.Trip))
			continue
		case <-ask.C:
			reply = p.askUnblock(c.self)
			continue
		case n = <-reply:
		case <-patience:
			select {
			case <-answered:
				return true
			default:
			}
		}
		failure := redis.AsErrorx(n)
		switch {
		case n == int64(1): // unblocked: the answer will come
		case n == serverKnown:
			ask.Reset(0)
		case n == int64(0), // the server has not received the command yet, or has answered it
			failure != nil && failure.IsOfType(redis.ErrQueueFull):
			ask.Reset(pause)
			pause = min(2*pause, unblockLeast)
		default:
			_ = c.Close()
			if failure != nil && (failure.IsOfType(errNotUnblocked) || refusedForGood(failure)) {
				p.noteNotUnblocked(failure)
			}
			return false
		}
	}
}

// unblockMost is how long an unblocked command may go unanswered. It uses the shortest
// round trip that is known, trip or the owner's, since a longer one may have met a server
// that stalled.
func (p *Pool) unblockMost(trip time.Duration) time.Duration {
	trip = min(trip, p.owner.ShortestTrip())
	return min(max(unblockLeast, timing.Times(trip, unblockTrips)), unblockLongest)
}

// serverKnown is the answer of askUnblock when it has found out which server process the
// shared connection leads to.
const serverKnown = "the server is known"

// askUnblock sends CLIENT UNBLOCK through the shared connection, if its socket leads to the
// same process as that of the client. Behind a load balancer, or after a restart, it may
// lead to another process, where the id belongs to another client.
func (p *Pool) askUnblock(client identity) <-chan any {
	reply := make(chan any, 1)
	if client.err != nil {
		reply <- client.err
		return reply
	}
	shared := p.owner.Shared()
	if shared == nil {
		reply <- peer.ErrNotConnected.New("not connected")
		return reply
	}
	switch server := shared.Server().Load(); {
	case server == nil:
		shared.Send(redis.Req("INFO", "server"), func(res any, _ uint64) {
			if err := redis.AsErrorx(res); err == nil || refusedForGood(err) {
				server := RunID(res)
				shared.Server().Store(&server)
				res = serverKnown
			}
			reply <- res
		})
	case *server == client.server:
		shared.Send(redis.Req("CLIENT", "UNBLOCK", client.client, "ERROR"), func(res any, _ uint64) { reply <- res })
	default:
		reply <- errNotUnblocked.New("the shared connection does not lead to the same process")
	}
	return reply
}
