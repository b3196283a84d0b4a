// Package dedicated is the pool of connections that have one user at a time, and what runs
// on them: blocking commands, and sessions. They stand beside the connection that all
// users share, their owner, and have nothing of it but how it dials.
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
