// Package rediscache answers reads from memory. It never returns a value that is older than a
// write through the cache that was acknowledged before the read started.
//
//	cache, err := rediscache.New(client, rediscache.Opts{Prefixes: []string{"user:"}, MaxAge: time.Minute})
//	if err != nil {
//		return err
//	}
//	var name string
//	err = cache.DoInto(ctx, &name, "GET", "user:1") // the second time from memory
//
// A [Cache] is a [redis.Sender], so sessions, scripts, transactions and hooks work with it. Send
// all requests through it. If you send a write directly to the client that the cache wraps, the cache
// learns of the change a moment later, when the server reports it, as for other clients' writes. The
// guide is docs/caching.md.
//
// # Cached replies
//
// The cache keeps the replies of commands that depend only on the values of their keys, such as GET,
// HGETALL, MGET and ZRANGE, but not TTL, RANDOMKEY, iterators or scripts. It keeps a reply if all keys
// have one of Opts.Prefixes, or if the request was sent through [Cache.WithMaxAge]. It does not keep
// errors, and keeps null for Opts.NullAge. A result belongs to the caller, who may change it. When a
// key or a field of a hash expires, the cache drops it once the server has deleted it, typically
// within a tenth of a second; Opts.MaxAge bounds this delay.
//
// While there is room, the cache keeps every reply. A full cache keeps a reply only from the second
// time on that its request is sent: the first time, it forwards the request as if there were no cache,
// and the server does not track its keys. Once the cache is half full, a table remembers the
// requests that were sent: about as many as the cache can hold small replies. A request that finds no
// place in the table replaces another request, which then counts as new again. A forwarded read may
// see another client's change a moment before the cache drops the old replies.
//
// A cache belongs to one database and one user: if the user of the connection changes, the cache drops
// all entries. In a cluster, the cache reads the keys that it caches from masters, even the first time
// and whatever the policy of the client. The policy applies only while a master has no lease.
//
// # Why no read is stale after a write
//
// A server reports a client's own write only after it has acknowledged the write, so the cache does not
// wait for the report. A tag represents the state of a key since its last change. A read takes the tags
// of its keys before it is sent. When its reply arrives, the cache keeps the reply if these tags are
// still alive. When the reply to a write arrives, whatever it says, the cache kills the tags of the
// keys before it resolves the write's future; a server's report also kills the tag. The cache never
// serves or keeps a reply with a killed tag, and no caller joins a read with one. The next read creates
// a new tag; it is sent after the write was acknowledged, so its reply is not older. The cache finds the
// keys of a write in the table of commands. An unknown command, or one that may write without naming
// keys, such as a script without KEYS, drops everything. The cache refuses SWAPDB.
//
// A request with an unknown outcome may still run later, and a script may change keys that it does not
// name. Servers report these changes like those of other clients.
//
// Requests that a goroutine sends without waiting for their replies keep their order, except
// cached reads: these may overtake other requests, and be overtaken. The requests of one SendMany keep
// their order.
//
// # How the cache learns of changes
//
// The cache has a separate connection to each master (the tracker), with CLIENT TRACKING. It reads only
// the replies that it will keep over this connection; the shared connections do not track. Replies and
// pushes arrive over one socket, in the order in which the server acted. Kept replies are valid under a
// lease, which each answer to CLIENT TRACKINGINFO renews: the answer proves that the server is still
// tracking, and that it has reported all earlier changes. A lease expires after half of IOTimeout without
// such an answer. It ends when the tracker or the shared connection loses its socket, and when the
// node loses a slot. There is no lease while the tracker leads to a different server process than the
// shared connection, as behind a balancer; INFO shows this, if the user may send it. While there is no
// lease, the cache forwards reads.
//
// # Bounds
//
// Opts.MaxBytes bounds the entries of all nodes. SIEVE chooses the entries to evict: it is a queue
// in which a hit moves nothing. There are 256 shards; a hit takes the read lock of one, and a miss takes
// its lock twice. The tag of a key holds the entries whose first key it is, so one look-up finds an
// entry. No goroutine expires entries. The package does not use a general cache library, because a change
// of a key must drop all entries of the key at once, including one that is just being read.
package rediscache
