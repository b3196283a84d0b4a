// Package redis holds what connections and clusters have in common: requests,
// futures and senders, the codec, the errors, and the wrappers that most
// programs call.
//
//	client := redis.SyncCtx{S: sender} // of package redisconn or rediscluster
//	res := client.Do(ctx, "GET", "key")
//	if err := redis.AsError(res); err != nil {
//		return err
//	}
//
// # Senders and futures
//
// A Sender takes a Request with a Future, and returns at once; the future is
// resolved once, in the goroutine that reads the socket. Wrappers do the
// waiting: Sync blocks, SyncCtx blocks until its context ends, ChanFutured
// returns something to wait for. All of them are values that cost nothing to
// make and are safe for any number of goroutines.
//
// # Results
//
// A result is of one of these types; [As] and [Sync.DoInto] turn it into others:
// numbers of any size, slices, maps, structs, and types that unmarshal themselves.
// [Args] goes the other way, [Collect] reads the results of several requests, and
// [Keys], [Fields], [Members] and [ScoredMembers] iterate.
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
// A failure is a result too: see AsError. Every error of this library is an
// *errorx.Error under the namespace Errors. Three questions matter to a caller:
//
//   - What became of the request? See OutcomeOf: the server answered or refused
//     it, it was not sent, or it is unknown whether it ran.
//   - May it be sent again without running twice? See SafeToRetry.
//   - What caused it? See CausedBy.
//
// Errors print no argument of a request: see EKRequest and Request.String.
//
// # Codec
//
// AppendRequest encodes, a Decoder decodes. Decoding is strict, and bounded by
// Limits before anything is allocated.
package redis
