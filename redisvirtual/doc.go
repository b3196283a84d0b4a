// Package redisvirtual provides connections that are not sockets: net.Conns for programs and
// libraries that are written for another Redis client. The package parses what such a client writes
// into requests and sends them over the shared socket; the client reads the replies. So the requests of
// an unmodified go-redis, redigo, radix or rueidis, and of the libraries built on them, share batches
// with all other requests, on one socket for each server.
//
//	rdb := goredis.NewClient(&goredis.Options{Addr: addr, Dialer: redisvirtual.Dialer(conn)})
//
// The package itself answers requests about the client's connection: its name, its
// database, and its credentials, if they match the shared connection. It sends MULTI to EXEC
// as one transaction. Commands that would disturb other users of the shared connection get
// a different one: blocking commands and WATCH get a connection of the pool (see
// redisconn.Opts.DedicatedConns); others, such as SUBSCRIBE, MONITOR, SELECT of another database or
// AUTH as another user, get a separate socket that is dialed like the shared one.
//
// docs/virtual.md lists which command takes which connection, and has measurements.
//
// # When a connection is lost
//
// A virtual connection ends with its first request that fails without an answer. If none of
// its waiting requests has reached a socket, the error wraps [io.ErrUnexpectedEOF],
// and go-redis retries. If one of them may have run, go-redis does not retry after the error.
// The same holds for the error of a read deadline, after which go-redis would otherwise
// send a write twice. [redis.OutcomeOf] and [redis.SafeToRetry] understand both errors.
package redisvirtual
