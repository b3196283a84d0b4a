// Package redisconn talks to one Redis server over one socket, which any number
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
// reuse its arguments as soon as Send returns. If nobody is writing, the caller takes the
// batch and writes it, without ever waiting for the socket: the writer goroutine writes
// the bytes that the socket does not take at once, and most of those sent over TLS.
// During a write, the next batch fills. Batches in flight are kept in the order in which
// they were written, so the first reply is for the first request of the first batch.
//
// # Lost connections
//
// A [Connection] dials again when its socket breaks. A request of which nothing
// was written ends with the trait [redis.ErrTraitNotSent]; one that was written
// ends with [redis.ErrIO], and may have run. Nothing is sent twice.
//
// A heartbeat, three times per Opts.IOTimeout, detects servers that are silent, and
// replies that are out of step with requests. A reply that nobody asked for, or that does
// not parse, closes the socket: no request ever gets a doubtful reply.
//
// # Forbidden commands
//
// Commands that would change the state of the shared socket (SUBSCRIBE, SELECT, WATCH)
// end with [redis.ErrCommandForbidden]. A [redis.Session], and a connection with
// Opts.ScriptMode, have only one user, and allow those of them that leave the protocol as
// it is. A blocking command (BLPOP) has a socket of its own while it blocks: see
// Opts.DedicatedConns. Batches and transactions refuse blocking commands.
//
// # Bounds
//
// Opts.MaxRequests and Opts.MaxBytes bound the queue, Opts.IOTimeout how long an
// answer may take, Opts.Limits how large it may be.
//
// # Guides
//
// docs/options.md says when to set which option, docs/security.md what bounds what,
// docs/operating.md what to look at when requests get slow.
package redisconn
