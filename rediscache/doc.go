// Package rediscache answers reads out of memory, and never with a value that is older than a
// write of its own that was acknowledged before the read began.
//
//	cache, err := rediscache.New(client, rediscache.Opts{Prefixes: []string{"user:"}, MaxAge: time.Minute})
//	if err != nil {
//		return err
//	}
//	var name string
//	err = cache.DoInto(ctx, &name, "GET", "user:1") // the second time out of memory
//
// A [Cache] is a [redis.Sender], so sessions, scripts, transactions and hooks work with it. Send
// everything through it: what is sent to the client inside is to the cache what another client
// does, of which servers tell a moment later. The guide is docs/caching.md.
//
// # What is kept
//
// The replies of commands that depend on the values of their keys alone: GET, HGETALL, MGET,
// ZRANGE and so on, but not TTL, RANDOMKEY, iterators or scripts. They are kept if all keys have
// one of Opts.Prefixes, or if they are sent through [Cache.WithMaxAge]. Errors are not kept, null
// for Opts.NullAge. A result is the caller's own: it may be changed. A key or a field of a hash that
// expires is dropped when the server deletes it, typically within a tenth of a second; Opts.MaxAge
// bounds how late that may be.
//
// While there is room, each reply is kept. A full cache keeps one from the second time on that its
// request is sent: the first time it is read as without a cache, and no server keeps track of its keys.
// A table remembers which requests were sent since half of the room was taken, about as many as there
// is room for small replies. A request that finds no place takes that of another one, which counts as
// new again. What was sent for the first time may show what another client has changed a moment before
// that is dropped from replies that are kept.
//
// Each cache is of one database and one user: when the connection becomes another user, what was
// kept is dropped. In a cluster these keys are read from masters, the first time, too, whatever the
// policy of the client is; but as that says while the master has no lease.
//
// # Why nothing is stale after a write
//
// Servers tell a client of its own write after they have acknowledged it, so the cache does not
// wait for that. A tag stands for what a key has been since its last event. A read takes the tags
// of its keys before it is sent, and its reply is kept with them, if they are alive when it comes.
// A write kills the tags of its keys when its reply comes, whatever that is, before its future is
// resolved; and so does what a server tells. A killed tag is never served, filled or joined, and
// the next read makes another one: it is sent after the write was acknowledged, so its reply is
// not older. Which keys a write has is known from the table of commands. A command that is not
// known, and one that may write without naming keys, such as a script without KEYS, drops
// everything. SWAPDB is refused.
//
// What a request may still do after its outcome is unknown, and what a script does to keys that
// it does not name, servers tell of, as of what other clients do.
//
// Requests that a goroutine sends without waiting for their replies keep their order, but for
// reads that are cached: these may overtake, or be overtaken. In one SendMany the order is kept.
//
// # How changes are heard of
//
// Each master has a connection of its own (the tracker), with CLIENT TRACKING, that reads what is
// to be kept, and nothing else; so the shared connections do not track. Replies and pushes come by
// one socket, in the order of what the server did. What is read there is read under a lease,
// which the answer to CLIENT TRACKINGINFO renews: it is proof that the server is still tracking,
// and that all changes before it were heard of. A lease runs out after half of IOTimeout without
// one, and ends with the socket, when the shared connection loses its own, and when the
// topology takes a slot from the node. Nor is there one while the tracker leads to another server
// process than the shared connection, as behind a balancer: INFO tells, to users that may ask.
// While there is no lease, reads go the usual way.
//
// # Bounds
//
// Opts.MaxBytes bounds what is held by all nodes. Which entry leaves is decided by SIEVE, a queue
// in which a hit moves nothing, in 256 shards: a hit takes a read lock of one, and a miss its lock
// twice. Entries hang from the tag of their first key, which one look-up finds. There is no
// goroutine for entries. It is a map of the package's own since a change of a key has to drop all
// entries of the key at once, and one that is being read too, which caches of single keys do not
// know.
package rediscache
