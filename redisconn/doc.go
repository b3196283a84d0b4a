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
// # The way of a request
//
//	Send → encode → open batch → write → in flight → read → decode → Future
//
// A request is encoded into the open batch by its caller, under the queue's
// lock, so arguments may be reused as soon as Send returns. The caller that
// finds nobody writing takes the batch and writes it, without ever waiting for
// the socket: what the socket does not take is left to the writer goroutine, as
// is all of TLS. While a write is under way, the next batch fills. Batches in
// flight are in the order of the wire, so the first reply is for the first
// request of the first batch.
//
// # Sockets come and go
//
// A Connection dials again when its socket breaks. Requests of which nothing was
// written end with the trait redis.ErrTraitNotSent, those that were written with
// redis.ErrIO: they may have run. Nothing is sent twice.
//
// A heartbeat, three times per Opts.IOTimeout, finds servers that are silent or
// out of step. A reply that nobody asked for, or that does not parse, ends the
// socket: a doubtful reply is given to nobody.
//
// # What is refused
//
// Commands that would change the state of the shared socket end with
// redis.ErrCommandForbidden: SUBSCRIBE, SELECT, WATCH. A redis.Session, and
// Opts.ScriptMode, allow those that one user of a connection may use. Blocking
// commands (BLPOP) have a socket of their own while they block: see
// Opts.DedicatedConns. In batches and transactions they are refused.
//
// # Bounds
//
// Opts.MaxRequests and Opts.MaxBytes bound what is queued, Opts.IOTimeout how
// long an answer may take, Opts.Limits how large it may be.
package redisconn
