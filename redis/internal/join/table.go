// Package join shares the replies to reads that are under way. It sends nothing.
package join

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
)

// Table has the reads that are under way. It is safe for concurrent use.
type Table struct {
	seed  maphash.Seed
	start time.Time
	// all counts changes that may affect any key. Each counter in some counts changes of the keys
	// that are hashed to it. The counters only grow, so a sum of them is unchanged only if none of
	// them has grown.
	all    atomic.Uint64
	some   [1 << 10]atomic.Uint64
	shards [16]shard
}

// shard has a part of the reads.
type shard struct {
	mu    sync.Mutex // guards the reads of the shard, and their waiters
	reads map[string]*Read
}

// NewTable returns an empty table.
func NewTable() *Table {
	t := &Table{seed: maphash.MakeSeed(), start: time.Now()}
	for i := range t.shards {
		t.shards[i].reads = map[string]*Read{}
	}
	return t
}

// Changed notes that keys may have changed. Reads that begin afterwards do not join earlier reads.
func (t *Table) Changed(s send.Changes) {
	if s.All {
		t.all.Add(1)
	}
	for _, key := range s.Keys {
		t.some[t.place(key)].Add(1)
	}
}

// joinFor is for how long after its beginning other requests may join a read. Later requests send
// another read, because the first server may be slow or have stopped while another one answers.
const joinFor = 100 * time.Millisecond

// Join adds a waiter to a read of the same request that is under way. If there is none, Join
// returns a new read with first set, and the caller must send it. ok is false if the request can't
// be shared.
func (t *Table) Join(r *send.Request, cb send.Future, n uint64) (read *Read, first, ok bool) {
	if cb == nil || !r.ReplicaSafe || r.Shared != command.Allowed {
		return nil, false, false
	}
	stamp, ok := t.stamp(r)
	if !ok {
		return nil, false, false
	}
	s := &t.shards[maphash.Bytes(t.seed, r.Buf)%uint64(len(t.shards))]
	observes, now := send.Observes(cb), time.Since(t.start) // cheaper than time.Now
	s.mu.Lock()
	defer s.mu.Unlock()
	if read = s.reads[string(r.Buf)]; read != nil && read.stamp == stamp && now-read.began < joinFor && (read.observed || !observes) {
		read.waiters = append(read.waiters, waiter{cb, n})
		return read, false, true
	}
	read = &Read{shard: s, request: string(r.Buf), stamp: stamp, began: now, observed: observes}
	read.waiters = append(read.room[:0], waiter{cb, n})
	if r.Slot >= 0 {
		read.moves, read.move = context.WithCancel(context.Background())
	}
	s.reads[read.request] = read
	return read, true, true
}

// stamp returns a number that differs from the earlier one if any of the request's keys may have
// changed. ok is false if the reply depends on more than the request's keys: on chance, on code, or
// on keys that the request does not name.
func (t *Table) stamp(r *send.Request) (stamp uint64, ok bool) {
	info := command.Lookup(r.Cmd)
	if info == nil || alone[info.Name] {
		return 0, false
	}
	stamp = t.all.Load()
	if at := info.OnlyKey(); at > 0 {
		word := r.Arg(at)
		return stamp + t.some[maphash.Bytes(t.seed, word)%uint64(len(t.some))].Load(), word != nil
	}
	args := r.Args()
	for i := range command.Of(r.Cmd, args).Keys {
		stamp += t.some[t.place(r.KeyAt(args, i))].Load()
		ok = true
	}
	return stamp, ok
}

// place returns the index of the counter in some to which a key is hashed.
func (t *Table) place(key string) uint64 { return maphash.String(t.seed, key) % uint64(len(t.some)) }

// alone has the reads that are never shared.
var alone = map[string]bool{
	"HRANDFIELD": true, "SRANDMEMBER": true, "VRANDMEMBER": true, "ZRANDMEMBER": true, // depend on chance
	"EVAL_RO": true, "EVALSHA_RO": true, "FCALL_RO": true, // run code
	"SORT_RO": true, "TS.GET": true, "TS.INFO": true, "TS.RANGE": true, "TS.REVRANGE": true, // depend on other keys, too
}
