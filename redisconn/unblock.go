package redisconn

import (
	"context"
	"strings"
	"time"

	"github.com/joomcode/errorx"

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

// unblock has the server end what the connection blocks on, and waits until answered is
// closed. If that can't be had, or not soon after the end of ctx, it closes the
// connection, and returns false. A request of CLIENT UNBLOCK that comes too late has the
// next command of the connection sent again at worst.
func (d *dedicated) unblock(ctx context.Context, answered <-chan struct{}) (alive bool) {
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
			ended, patience = nil, time.After(d.unblockMost())
			continue
		case <-ask.C:
			reply = d.askUnblock()
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
			_ = d.Close()
			if failure != nil && (failure.IsOfType(errNotUnblocked) || refusedForGood(failure)) {
				d.c.dedicatedNotUnblocked(failure)
			}
			return false
		}
	}
}

// refusedForGood reports whether an error is the server's, and no passing one.
func refusedForGood(err *errorx.Error) bool {
	return err.IsOfType(redis.ErrResult) && !err.HasTrait(redis.ErrTraitTransient)
}

// errNotUnblocked: a dedicated connection is not known to be the client that the shared one
// would name.
var errNotUnblocked = redis.Errors.NewType("not_unblocked")

// unblockMost is for how long an unblocked command may go unanswered. Of the round trips
// that were measured the shortest counts: others may have met a server that stalled.
func (d *dedicated) unblockMost() time.Duration {
	trip := min(d.trip, time.Duration(d.c.shortest.Load()))
	return min(max(unblockLeast, timing.Times(trip, unblockTrips)), unblockLongest)
}

// identity says to which process a socket leads, and as which client that knows it.
type identity struct {
	server string        // run_id, which each process draws at random
	client int64         // CLIENT ID
	err    *errorx.Error // why one of them is not known
}

// askIdentity lists the steps of a handshake that ask for it. A user need not be allowed
// to.
func (d *dedicated) askIdentity() []step {
	return []step{
		{redis.Req("CLIENT", "ID"), func(_ *Connection, res any) *errorx.Error {
			var known bool
			if d.self.client, known = res.(int64); !known {
				d.self.err = unidentified("CLIENT ID", res)
			}
			return nil
		}},
		{redis.Req("INFO", "server"), func(_ *Connection, res any) *errorx.Error {
			if d.self.server = runID(res); d.self.server == "" {
				d.self.err = unidentified("INFO", res)
			}
			return nil
		}},
	}
}

func unidentified(cmd string, res any) *errorx.Error {
	if err := redis.AsErrorx(res); err != nil {
		return errNotUnblocked.Wrap(err, "%s", cmd)
	}
	return errNotUnblocked.New("%s was answered with something else", cmd)
}

// runID returns the run_id in an answer to INFO, or "" if there is none.
func runID(res any) string {
	text, _ := redis.As[string](res)
	for line := range strings.SplitSeq(text, "\r\n") {
		if id, found := strings.CutPrefix(line, "run_id:"); found {
			return id
		}
	}
	return ""
}

// serverKnown is the answer of askUnblock when it has found out where the shared connection
// leads to.
const serverKnown = "the server is known"

// askUnblock asks through the shared connection, if its socket leads to the same process as
// the dedicated one. Behind a balancer, or after a restart, it may lead to another, where
// the id is that of another client.
func (d *dedicated) askUnblock() <-chan any {
	reply := make(chan any, 1)
	if d.self.err != nil {
		reply <- d.self.err
		return reply
	}
	s := d.c.pipe.Session()
	if s == nil {
		reply <- ErrNotConnected.New("not connected")
		return reply
	}
	switch server := s.RunID.Load(); {
	case server == nil:
		d.c.pipe.SendOwn(s, redis.Req("INFO", "server"), func(res any, _ uint64) {
			if err := redis.AsErrorx(res); err == nil || refusedForGood(err) {
				server := runID(res)
				s.RunID.Store(&server)
				res = serverKnown
			}
			reply <- res
		})
	case *server == d.self.server:
		d.c.pipe.SendOwn(s, redis.Req("CLIENT", "UNBLOCK", d.self.client, "ERROR"), func(res any, _ uint64) { reply <- res })
	default:
		reply <- errNotUnblocked.New("the shared connection does not lead to the same process")
	}
	return reply
}
