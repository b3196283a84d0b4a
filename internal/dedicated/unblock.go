package dedicated

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/peer"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

const (
	// unblockLeast is for how long an unblocked command may go unanswered after the end
	// of its caller's context before its connection is closed: the caller has its result
	// after 50 ms. On loopback 99 of 100 take 0.6 ms, and 6 ms beside 64 goroutines that
	// send (BenchmarkBlockingCancelled, two cores).
	unblockLeast = 35 * time.Millisecond
	// unblockTrips is the same in round trips, where those are long. It takes two: that
	// of CLIENT UNBLOCK, and that of PING. Where one takes 10 ms, half take 21 ms, and
	// 99 of 100 take 26 ms.
	unblockTrips = 5
	// unblockLongest bounds that: a caller that has ended its context does not wait longer
	// for a server that is farther than any should be.
	unblockLongest = 250 * time.Millisecond
	// unblockAgain is the first pause after which a command that was not blocked yet
	// is unblocked again. It doubles.
	unblockAgain = time.Millisecond
)

// unblock has the server end what a connection blocks on, and waits until answered is
// closed. If the server can't, or not soon after the end of ctx, it closes the connection,
// and returns false. A CLIENT UNBLOCK that comes too late has the next command of the
// connection sent again at worst.
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
		case n == int64(1): // the answer comes
		case n == serverKnown:
			ask.Reset(0)
		case n == int64(0), // the server has not got the command yet, or has answered it
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

// unblockMost is for how long an unblocked command may go unanswered. Of the round trips
// that were measured, of which trip is one, the shortest counts: others may have met a
// server that stalled.
func (p *Pool) unblockMost(trip time.Duration) time.Duration {
	trip = min(trip, p.owner.ShortestTrip())
	return min(max(unblockLeast, timing.Times(trip, unblockTrips)), unblockLongest)
}

// serverKnown is the answer of askUnblock when it has found out where the shared connection
// leads to.
const serverKnown = "the server is known"

// askUnblock asks through the shared connection, if its socket leads to the same process as
// that of the client. Behind a balancer, or after a restart, it may lead to another, where
// the id is that of another client.
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
