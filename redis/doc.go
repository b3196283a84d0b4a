// Package redis has what connections and clusters share: requests, futures and
// senders, the codec, the errors, and the wrappers that most programs call.
//
//	client := redis.SyncCtx{S: sender} // of package redisconn or rediscluster
//	res := client.Do(ctx, "GET", "key")
//	if err := redis.AsError(res); err != nil {
//		return err
//	}
//
// # Senders and futures
//
// A [Sender] takes a [Request] with a [Future], and returns at once; the future
// is resolved once, in any goroutine, perhaps before that. The wrappers wait
// for results: [Sync] waits for each, [SyncCtx] also returns when its context is
// done, and [ChanFutured] returns a future with a channel. All of them are
// values that cost nothing to make, and are safe for use by many goroutines.
//
// # Results
//
// A result has one of the types below. [As] and [Sync.DoInto] convert it to other
// types: numbers of any size, slices, maps, structs, and types that unmarshal
// themselves. [Args] converts such types to arguments. [Collect] reads the results
// of several requests; [Keys], [Fields], [Members] and [ScoredMembers] iterate.
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
// A failure is a result too: see [AsError]. Every error of this library is an
// *errorx.Error under the namespace [Errors]. Three functions answer a caller's
// questions:
//
//   - [OutcomeOf]: what became of the request? The server answered it with a value
//     or with an error, it was not sent, or it is unknown whether it ran.
//   - [SafeToRetry]: may it be sent again without running twice?
//   - [CausedBy]: is that error, such as the end of a context, the cause?
//
// Errors print no argument of a request: see [EKRequest] and [Request.String].
//
// # Guides
//
// The pages docs/values.md, docs/batches.md, docs/transactions.md, docs/sessions.md,
// docs/streams.md and docs/errors.md of this module show more, and docs/pitfalls.md what
// surprises those who come from another client.
//
// # Codec
//
// [AppendRequest] encodes, a [Decoder] decodes. Decoding is strict, and bounded by
// [Limits] before anything is allocated.
package redis
