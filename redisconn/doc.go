// Package redisconn connects to one Redis server over one socket, which any number
// of goroutines share.
//
//	conn, err := redisconn.Connect(ctx, "127.0.0.1:6379", redisconn.Opts{})
//	if err != nil {
//		return err
//	}
//	defer conn.Close()
//	res := redis.SyncCtx{S: conn}.Do(ctx, "INCR", "counter")
//
// # The path of a request
//
//	Send → encode → open batch → write → in flight → read → decode → Future
//
// A caller encodes its request into the open batch, under the queue's lock, so it may
// reuse its arguments as soon as Send returns. If no other goroutine is writing, the caller takes
// the batch and writes it, but never waits for the socket: the writer goroutine writes
// the bytes that the socket does not take at once, and most of the bytes sent over TLS.
// During a write, the next batch fills. Batches in flight stay in the order in which
// they were written, so the first reply is for the first request of the first batch.
//
// # Lost connections
//
// A [Connection] dials again when its socket breaks. A request that was not written at all
// fails with the trait [redis.ErrTraitNotSent]; one that was (even partly) written
// fails with [redis.ErrIO] and may have run. The connection never sends a request twice.
//
// A heartbeat, three times per Opts.IOTimeout, detects silent servers, and
// replies that are out of step with requests. An unsolicited reply, or one that does
// not parse, closes the socket: no request ever gets a doubtful reply.
//
// # Forbidden commands
//
// Commands that would change the state of the shared socket (SUBSCRIBE, SELECT, WATCH)
// fail with [redis.ErrCommandForbidden]. A [redis.Session], and a connection with
// Opts.ScriptMode, serve one caller. So they also allow these commands, except those that
// change the protocol. A blocking command (BLPOP) gets its own socket while it blocks: see
// Opts.DedicatedConns. Batches and transactions refuse blocking commands.
//
// # Bounds
//
// Opts.MaxRequests and Opts.MaxBytes bound the queue, Opts.IOTimeout bounds the time of an
// answer, and Opts.Limits its size.
//
// # Guides
//
// docs/options.md explains when to set each option, docs/security.md lists the bounds, and
// docs/operating.md says where to look when requests get slow.
package redisconn
