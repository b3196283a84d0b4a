// Package redismirror moves a running program from one database to another, for example from a server to a
// cluster, or to another vendor. A [Mirror] is a [redis.Sender] over both databases. At first the old
// database decides: callers get its answers. The Mirror repeats writes and a share of the reads on the
// new database, compares the replies, and lists the keys that are different. [Mirror.Copy] copies the
// keys that existed before. [Mirror.CutOver] lets the new database decide for a share of the keys; raise
// the share step by step, or lower it to go back.
//
//	m, err := redismirror.New(from, to, redismirror.Opts{Reads: 0.01})
//	if err != nil {
//		return err
//	}
//	db := redis.SyncCtx{S: redis.WithRetry(m, redis.RetryOpts{})}
//
// The guide is docs/mirror.md, and begins with what no client can solve.
//
// # What callers notice
//
// A caller gets the answer of the deciding database as soon as it arrives. Repeated requests wait in a
// bounded queue. If the other database is slow or dead, the queue is full: then reads are not compared,
// and the keys of writes are listed for [Mirror.Repair]. Callers notice pauses only while
// [Mirror.CutOver], Copy and Repair hold back new writes of their keys until earlier writes have ended on
// both databases.
//
// # What is refused
//
// Some requests can't be repeated, or belong to no key. They are refused, not sent: writes that block, such as BLPOP
// (with [redis.ErrCommandForbidden]), sessions and Watch ([redis.ErrSession]); and, while only some keys are cut
// over, requests whose keys are on both sides, FLUSHALL and FLUSHDB ([ErrBothSides]).
package redismirror
