package dedicated

import (
	"context"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

const (
	// unblockLeast bounds the time from the end of the caller's context to the answer of the
	// unblocked command. Then the connection is closed, so that the caller soon has a result. On
	// loopback an answer takes much less (BenchmarkBlockingCancelled).
	unblockLeast = 35 * time.Millisecond
	// unblockTrips is the same bound in round trips, for slow networks: the longer of the two
	// applies. Unblocking takes two round trips, one for CLIENT UNBLOCK and one for PING.
	unblockTrips = 5
	// unblockLongest bounds both, however far away the server is.
	unblockLongest = 250 * time.Millisecond
	// unblockAgain is the first pause before unblocking is tried again, if the command did not
	// block yet. Each further pause is twice as long.
	unblockAgain = time.Millisecond
)

// unblock makes the server end the blocking command of a connection, and waits until answered is
// closed. If that fails, or takes too long after the end of ctx, it closes the connection and
// returns false. It waits for longer while the caller's own context has not ended. A late CLIENT UNBLOCK
// may hit the next command of the connection, which is then sent again.
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
			if caller := send.CallersContext(ctx); caller.Err() == nil {
				ended, patience = caller.Done(), time.After(max(p.config.Silence, p.unblockMost(c.Trip)))
			} else {
				ended, patience = nil, time.After(p.unblockMost(c.Trip))
			}
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
		case n == int64(1): // the answer is on its way
		case n == serverKnown:
			ask.Reset(0)
		case n == int64(0), // the server has not received the command yet, or has answered it
			failure != nil && failure.IsOfType(redis.ErrQueueFull):
			ask.Reset(pause)
			pause = min(2*pause, unblockLeast)
		default:
			_ = c.Close()
			if failure != nil && (failure.IsOfType(errNotUnblocked) || sock.RefusedForGood(failure)) {
				p.noteNotUnblocked(failure)
			}
			return false
		}
	}
}

// unblockMost is how long an unblocked command may stay unanswered. It uses the shortest known
// round trip (trip or the owner's), because a longer one may include a stall of the server.
func (p *Pool) unblockMost(trip time.Duration) time.Duration {
	trip = min(trip, p.owner.ShortestTrip())
	return min(max(unblockLeast, timing.Times(trip, unblockTrips)), unblockLongest)
}

// serverKnown is the result of askUnblock when it has just found out which server process the
// shared connection leads to.
const serverKnown = "the server is known"

// askUnblock sends CLIENT UNBLOCK through the shared connection, if its socket leads to the process
// to which client is connected. Behind a load balancer, or after a restart, the socket may lead to
// another process, in which the ID belongs to another client.
func (p *Pool) askUnblock(client identity) <-chan any {
	reply := make(chan any, 1)
	if client.err != nil {
		reply <- client.err
		return reply
	}
	shared := p.owner.Shared()
	if shared == nil {
		reply <- sock.ErrNotConnected.New("not connected")
		return reply
	}
	switch server := shared.RunID(); {
	case server == nil:
		shared.AskRunID(func(err error) {
			if err != nil {
				reply <- err
			} else {
				reply <- serverKnown
			}
		})
	case *server == client.server:
		shared.Send(redis.Req("CLIENT", "UNBLOCK", client.client, "ERROR"), func(res any, _ uint64) { reply <- res })
	default:
		reply <- errNotUnblocked.New("the shared connection does not lead to the same process")
	}
	return reply
}

// identity identifies the client at this end of a socket: the server process at the other end, and
// the client ID there.
type identity struct {
	server string        // run_id, which each process draws at random
	client int64         // CLIENT ID
	err    *errorx.Error // why server or client is not known
}

// ask returns the handshake steps that ask for the identity. They are optional, because the ACL
// user may have no permission for them.
func (id *identity) ask() []dial.Step {
	return []dial.Step{
		{Request: redis.Req("CLIENT", "ID"), Check: func(res any) *errorx.Error {
			var known bool
			if id.client, known = res.(int64); !known {
				id.err = unidentified("CLIENT ID", res)
			}
			return nil
		}},
		{Request: redis.Req("INFO", "server"), Check: func(res any) *errorx.Error {
			if id.server = sock.RunID(res); id.server == "" {
				id.err = unidentified("INFO", res)
			}
			return nil
		}},
	}
}

func unidentified(cmd string, res any) *errorx.Error {
	if err := redis.AsErrorx(res); err != nil {
		return errNotUnblocked.Wrap(err, "%s", cmd)
	}
	return errNotUnblocked.New("unexpected answer to %s", cmd)
}

// errNotUnblocked: a command was not unblocked, because its client ID might belong to another
// client in the server process of the shared connection.
var errNotUnblocked = redis.Errors.NewType("not_unblocked")
