// Package redisfailover provides a client for several databases, called members, one of which is active.
// The members may be, for example, a cluster in each of two regions, or an old and a new server. The client
// sends each request to one member, so the databases, or your program, must copy the data between them.
//
//	db, err := redisfailover.Open(ctx, []redisfailover.Member{
//		{Name: "near", URL: "redis-cluster://near1:7000,near2:7000", Weight: 2},
//		{Name: "far", URL: "redis://far:6379", Weight: 1},
//	}, redisfailover.Opts{})
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//	err = redis.Err(db.Do(ctx, "SET", "key", "value"))
//
// A [Client] is a [redis.Sender]: Do, transactions, sessions, scripts and hooks work as with a
// redispipe.Client. The guide is docs/failover.md, and begins with what no client can solve.
//
// # What moves to another member
//
// All requests go to the active member. When that fails, another one becomes active, and the outcome of
// a request decides whether it follows, as with [redis.WithRetry]:
//
//   - A request that was not sent waits until its member takes it or another one is active, up to the
//     deadline of its context, or for 3 s without one.
//   - A read that ended unknown is sent again, to the member that is active then.
//   - A write that ended unknown may have run. Its error is returned, and it is not sent to another
//     member, unless Opts.Retry.IdempotentWrites allows that.
//
// Requests with a [redis.Future] are sent once, in their order, to the member that is active at that
// time. Your program may repeat a request if [redis.SafeToRetry] returns true for its error.
//
// A session and an attempt of Watch belong to the member that they began on. After a shift a session's
// calls fail with [redis.ErrSessionLost], not sent, and Watch begins again on the new member. A
// blocking command is unblocked. If it has done nothing, it continues on the new member; otherwise its
// outcome is unknown. A Scanner starts again on the new member.
//
// # When another member becomes active
//
// The client sends a PING, or the requests of Opts.Probe, to each member four times per Opts.Patience,
// and counts how all requests end. A member is down in either of two cases:
//
//   - Nothing has succeeded for Opts.Patience, and at least two requests or probes have failed since the
//     last success.
//   - In each half of the last Opts.Patience, at least 10 requests have ended, and at least the share
//     Opts.FailureRate of them has failed.
//
// Errors that the request itself or its caller causes do not count. A member is up again after three
// probes in a row have succeeded.
//
// If the active member is down, the member with the greatest weight among those that are up becomes
// active. When the preferred member (of the greatest weight, or the last one given to
// [Client.SwitchTo]) has been up for Opts.Failback, it becomes active again: at once or, with Opts.Ramp,
// for more and more keys. Two shifts are at least Opts.Failback apart, with one exception: if nothing succeeds
// on the active member, the client shifts earlier to a member on which nothing has failed for Opts.Failback.
package redisfailover
