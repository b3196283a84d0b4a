// Package redis has the parts that connections and clusters share: requests, futures and senders,
// the codec, the errors, and the wrappers that most programs call.
//
//	client := redis.SyncCtx{S: sender} // of package redisconn or rediscluster
//	res := client.Do(ctx, "GET", "key")
//	if err := redis.Err(res); err != nil {
//		return err
//	}
//
// # Senders and futures
//
// A [Sender] takes a [Request] with a [Future], and returns at once; the future is resolved once,
// in any goroutine, perhaps before Send returns. The wrappers wait for results: [Sync] waits for
// each, [SyncCtx] also returns when its context is done, and [ChanFutured] returns a future with a
// channel. All of them are plain values that cost nothing to create, and are safe for concurrent
// use.
//
// # Results
//
// A result has one of the types below. [As] and [Sync.DoInto] convert it to other types: numbers of
// any size, slices, maps, structs, and types that unmarshal themselves. [Args] converts such types
// to arguments. [Collect] reads the results of several requests; [Keys], [Fields], [Members] and
// [ScoredMembers] iterate.
//
//	simple string    string
//	bulk string      []byte
//	integer          int64
//	array            []any
//	null             nil
//	error            *errorx.Error
//
// # Errors
//
// A failure is also a result: see [Err]. Every error of this library is an *errorx.Error under the
// namespace [Errors]. These functions answer a caller's questions:
//
//   - [OutcomeOf]: what happened to the request? The server answered it with a value
//     or with an error, it was not sent, or it is unknown whether it ran.
//   - [SafeToRetry]: may I send it again without running it twice? [WithRetry] does so.
//   - errors.Is, for an error from [Err] or a function such as [Sync.DoInto]:
//     context.Canceled or context.DeadlineExceeded if a context ended the request,
//     [Nil] for null, [ErrRefused], [ErrNotSent] and [ErrUnknown] for the outcome.
//   - errors.As, with a [net.Error]: was it a time-out?
//
// Errors print no argument of a request: see [EKRequest] and [Request.String].
//
// # Guides
//
// The pages docs/values.md, docs/batches.md, docs/transactions.md, docs/sessions.md,
// docs/streams.md and docs/errors.md of this module show more; docs/pitfalls.md lists what
// surprises people who come from another client.
//
// # Codec
//
// [AppendRequest] encodes requests, and a [Decoder] decodes replies. Decoding is strict, and checks
// [Limits] before it allocates.
package redis

// For maintainers: typed reads.
//
// DoInto puts a target into its waiter and marks the request as typed. The reader claims the item
// first; then the waiter decodes straight from the read buffer (resp.Scalar). The value stays in
// the waiter until the caller takes it, so a reply that arrives after the caller has left can't
// touch the caller's variable. For the same reason the buffer of a *[]byte belongs to the
// connection during the call, and the caller's variable is nil if the context ends first. Slices,
// maps and structs are built from a complete result, so they are never half filled. Types that need
// reflection are read by a plan and turned into arguments by a marshaler, both in internal/values
// and built once per type. With Opts.Integrity replies are held back, so all reads start with a
// complete result.

// Scripts.
//
// redis.Script uses only the methods of Sender. The fast path is Do with EVALSHA; everything else
// is a scriptCall, a future between the sender and the caller's future. On NOSCRIPT the call enters
// Script.bursts under the address of the node. The first such call sends the body. Calls that get
// NOSCRIPT before the body is answered are sent again after it, in their order. A burst costs one
// body and two round trips for each node. A call that waits for one node never waits for another
// node. A call that meets NOSCRIPT after three such waits, because the script is flushed every few
// milliseconds, sends the body itself, and can't meet NOSCRIPT again.
//
// In a transaction nothing can be sent again, so each script's first request has the body.

// Jobs.
//
// redis.JobReader also uses only requests, and runs in its user's loop. With Ack each reader moves
// the jobs that it takes to its own list (jobLoop.take), and holds a lease. It checks in
// (jobLoop.checkIn) four times in MinIdle, and whenever a pop or an acknowledgement had an unknown
// outcome. Checking in is one transaction, which renews the lease and reads the list. Then
// jobLoop.compare finds out what a request with an unknown outcome has done. A pop may reach the
// server late, after its connection was lost, so the list is compared even if no outcome is
// unknown.
//
// - A reader that finds an expired lease takes it over with SET NX. After that the reader that
//   had it never uses that list again, so the jobs in it can be moved back one by one, by several
//   readers at once. A reader that comes back finds the foreign lease before it delivers a job, and begins another list.
// - Other readers look at a dead reader's list again for some minutes (jobStray), although it was empty: a pop
//   may have been on its way, and a failover may undo that jobs were moved. Then they remove the reader's name.
//   A reader whose loop ends removes its own name in the transaction that empties the list.
// - Acknowledgements are not idempotent: LREM removes one of several equal payloads. So an acknowledgement
//   with an unknown outcome is repeated only after a comparison, and while no pop has an unknown outcome.

// Streams.
//
// redis.GroupReader uses only requests, and runs in its user's loop. Each step (groupLoop.fetch)
// reads one batch: the consumer's own history, then, if that is due, entries that other consumers
// have left, or new entries. After a failure a reply may be lost, so the loop reads the consumer's
// entries again, in a way that the server does not count as a delivery. It skips the entries in
// open: those that it has delivered within MinIdle and that its user has not acknowledged. When the
// loop ends, it undoes the server's count for entries that it has read and not delivered.
//
// - Entries that were fetched belong to this reader for MinIdle. If a batch is older than
//   half of that when one of its entries is due, the batch is claimed again, without
//   counting as a delivery. If it is older than MinIdle, it is dropped and read again.
// - If the group is destroyed, by XGROUP DESTROY or DEL of the stream, the server no
//   longer knows what is pending and what was acknowledged. The loop drops what it has
//   read, and delivers an error; the next read creates the group again at Start. Nothing
//   is lost, but acknowledged entries come again: only a second write for each
//   acknowledgement could tell them apart.
// - Redis 6.2 does not say which of the claimed entries are deleted. They are in the
//   consumer's history, which is read once more.

// Hooks.
//
// do, sendMany and sendTransaction recognize the type hooked, call its hook, and send through the
// sender inside, which thus keeps its fast path for encoded requests. A hooked sender wraps the
// futures that it is given, and calls the hook for them in separate goroutines. A future that is a
// send.Observer is told which server answered, if the request has the flag Observed. A Session
// calls the hooks of the sender that it was opened on. redispubsub calls hooked.Around, because
// subscribing is not a request.
