// Package redisvirtual makes connections that are no sockets: net.Conns for programs and
// libraries that are written for another client of Redis. What such a client writes is read as
// requests, which go over the socket that all share, and what it reads are the replies. So an
// unmodified go-redis, redigo, radix or rueidis, with all that is built on it, has its requests
// gathered into batches with those of everybody else, on one socket for each server.
//
//	rdb := goredis.NewClient(&goredis.Options{Addr: addr, Dialer: redisvirtual.Dialer(conn)})
//
// What a client says of its connection is answered here, without a server: its name, its
// database, its credentials, as long as they are those of the shared connection. MULTI to EXEC
// goes out as one transaction. What the others of a shared connection would suffer from has a
// connection of its own: blocking commands and WATCH one of the pool (see
// redisconn.Opts.DedicatedConns), all else, as SUBSCRIBE, MONITOR, SELECT of another database or
// AUTH of another user, a socket that is dialed as the shared one is.
//
// docs/virtual.md has what goes where, and what was measured.
//
// # When a connection is lost
//
// A virtual connection ends with the first request of its own that is not answered. If none of
// the requests that were waiting has reached a socket, the error wraps [io.ErrUnexpectedEOF],
// on which go-redis sends them again. If one of them may have run, the error is one on which
// it does not. So is that of a read deadline, which go-redis would otherwise take for a reason
// to send a write twice. [redis.OutcomeOf] and [redis.SafeToRetry] know both errors.
package redisvirtual
