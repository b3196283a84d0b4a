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
// A caller encodes its request into the open batch, under the queue's lock, so
// it may reuse its arguments as soon as Send returns. If nobody is writing, it
// takes the batch and writes it, without ever waiting for the socket: what the
// socket does not take is left to the writer goroutine, as is most of what is
// sent over TLS. While a write is under way, the next batch fills. Batches in
// flight are in the order of the wire, so the first reply is for the first
// request of the first batch.
//
// # Lost connections
//
// A [Connection] dials again when its socket breaks. A request of which nothing
// was written ends with the trait [redis.ErrTraitNotSent]; one that was written
// ends with [redis.ErrIO], and may have run. Nothing is sent twice.
//
// A heartbeat, three times per Opts.IOTimeout, detects servers that are silent or
// out of step. A reply that nobody asked for, or that does not parse, ends the
// socket: a doubtful reply is given to nobody.
//
// # Forbidden commands
//
// Commands that would change the state of the shared socket (SUBSCRIBE, SELECT,
// WATCH) end with [redis.ErrCommandForbidden]. A [redis.Session], and a
// connection with Opts.ScriptMode, allow those that are harmless with one user.
// A blocking command (BLPOP) has a socket of its own while it blocks: see
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
