// Package dedicated is the pool of connections that have one user at a time, and what runs
// on them: blocking commands, and sessions. They stand beside the connection that all
// users share, their owner, and have nothing of it but how it dials.
//
// Blocking commands leave the shared path where forbidden commands are refused (sendOne):
// one comparison, which every request makes anyway. blocking copies the request and
// enters the pool, which grants it a place, with a connection or to make one, or has it
// wait. serve awaits that, writes, reads the reply, releases the connection and resolves
// the future: in the goroutine of a caller that would only wait, and otherwise in one of
// its own. An idle dedicated connection has no goroutine. Queue,
// batches and reader are not involved. The shared connection sends only CLIENT UNBLOCK for
// it, and only on a socket that leads to the same process (unblock.go): elsewhere the id
// is that of another client. Both sockets ask INFO for the run_id that each process draws,
// and Entry.On sees to it that the request is written on that session or not at all. The
// pool only counts and grants: those who enter dial, check an idle connection before they
// use it, and close what is of no more use, all without its lock. It knows the shared
// connection as its Owner only.
//
// The ticket of such a request is heeded: when its context ends, the caller does not
// leave, but waits for the future, which the connection resolves soon (call.leave). The
// connection gets the context from wire.ContextOf. The answer UNBLOCKED means that nothing
// ran. But a server whose clients are paused answers UNBLOCKED, too, and runs the command
// later. Hence the PING that follows (confirm): a reply that comes before its echo is the
// result. If no reply comes in time, the connection is closed and the outcome is unknown.
//
// Sessions enter the same pool, and release the connection after RESET and the
// whole handshake (renew). Servers differ in which settings of CLIENT the RESET undoes, so
// a connection on which such a command was sent is closed instead, and so is one on which
// a command was sent that the table lacks. New credentials (Pool.Outdate) end the
// connections that had the old ones, once they are idle.
//
// After ASK, ASKING goes before a command for askLasts only; later the node answers MOVED,
// unless the slot is its own by then. For a session that time begins anew with each request
// that was taken. A transaction that was watched in time may take longer: EXEC runs nothing
// if the key was changed meanwhile.
package dedicated

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// Owner is the connection that the dedicated ones belong to. Its methods are called in any
// goroutine, under no lock.
type Owner interface {
	// Withheld reports whether nothing of users' may be written any more.
	Withheld() bool
	// Shared returns the socket of the shared connection, or nil if it has none.
	Shared() Shared
	// ShortestTrip returns the shortest round trip lately.
	ShortestTrip() time.Duration
	// WithConn adds the connection to an error.
	WithConn(err *errorx.Error) *errorx.Error
	// Resolve resolves a future. stat is as given to [Pool.Block]; received and sent are
	// the sizes of reply and request, received being 0 if there was no reply.
	Resolve(cb redis.Future, n uint64, res, stat any, received, sent int)
	// Report is told of an event, which is one of the types below.
	Report(event any)
}

// Shared is a socket of the shared connection.
type Shared interface {
	// Send sends a request of the library's own on this socket or not at all.
	Send(req redis.Request, answer wire.Own)
	// Server has the run_id of the server process, or "" if that does not tell; nil until
	// it was asked.
	Server() *atomic.Pointer[string]
}

// The events. Their fields are those of redisconn's events of dedicated connections.
type (
	// Connected is redisconn.LogDedicatedConnected.
	Connected struct {
		LocalAddr, RemoteAddr string
		Open, More            int
	}
	// Disconnected is redisconn.LogDedicatedDisconnected.
	Disconnected struct {
		Error                 error
		LocalAddr, RemoteAddr string
		More                  int
	}
	// Failed is redisconn.LogDedicatedFailed.
	Failed struct {
		Error error
		More  int
	}
	// NotUnblocked is redisconn.LogNotUnblocked.
	NotUnblocked struct{ Error error }
	// Leaked is redisconn.LogSessionLeaked.
	Leaked struct{ Opened string }
)
