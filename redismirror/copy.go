package redismirror

import (
	"bytes"
	"context"
	"slices"

	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
)

const (
	// copyMost is the number of keys that Copy and Repair copy at once.
	copyMost = 64
	// ttlSlack is the greatest difference in milliseconds between the times to live of a key and its copy
	// for Compare to treat them as equal.
	ttlSlack = 2000
)

// Copy copies all keys that match opts.Match, with their times to live, to the database that does not
// decide for them. Writes of the keys that are being copied wait. Set only Match and Count in opts. Copy
// returns how many keys it has copied. It is safe to call it again, for example after an error.
// Without Match, Copy also resets [Stats].Unlisted.
func (m *Mirror) Copy(ctx context.Context, opts redis.ScanOpts) (n int, err error) {
	if err := m.ended(); err != nil {
		return 0, redis.Err(err)
	}
	unlisted := 0
	if opts.Match == "" {
		unlisted = m.findings.forget()
	}
	if opts.Count == 0 {
		opts.Count = copyMost
	}
	for it := (redis.SyncCtx{S: redis.WithRetry(m.keyless(), redis.RetryOpts{})}).Scanner(ctx, opts); ; {
		keys, err := it.Next()
		if err == redis.ScanEOF {
			return n, nil
		}
		for part := range slices.Chunk(keys, copyMost) {
			if err == nil {
				err = m.copy(ctx, part)
			}
			if err == nil {
				n += len(part)
			}
		}
		if err != nil {
			m.findings.missed(unlisted)
			return n, redis.Err(err)
		}
	}
}

// Repair copies the keys of [Mirror.Findings] from the database that decides for them to the other one, and
// removes them from the list. It returns the number of keys. Writes of these keys wait. A finding without a
// key, such as that of SCRIPT LOAD, can't be repaired: Repair only removes it from the list. After an error,
// call it again.
func (m *Mirror) Repair(ctx context.Context) (n int, err error) {
	if err := m.ended(); err != nil {
		return 0, redis.Err(err)
	}
	keys, _ := m.findings.keys()
	for part := range slices.Chunk(keys, copyMost) {
		if err := m.copy(ctx, part); err != nil {
			return n, redis.Err(err)
		}
		n += len(part)
	}
	return n, nil
}

// copy copies keys while nobody writes them.
func (m *Mirror) copy(ctx context.Context, keys []string) error {
	m.moving.Lock()
	defer m.moving.Unlock()
	slots := make([]int, len(keys))
	for i, key := range keys {
		slots[i] = int(slot.Of(key))
	}
	return m.quietly(ctx, slots, func(ctx context.Context) error {
		var of [2][]string
		for i, key := range keys {
			side := m.gates.side(slots[i])
			of[side] = append(of[side], key)
		}
		for side, keys := range of {
			if err := CopyKeys(ctx, m.sides[side], m.sides[1-side], keys); err != nil {
				return err
			}
		}
		m.findings.repaired(keys)
		return nil
	})
}

// CopyKeys copies keys from one database to another by DUMP and RESTORE. If a key does not exist in the first
// database, CopyKeys deletes it from the second one. A copy expires later than its original, by as long as
// copying takes.
// Writes during the copy may be lost: compare afterwards, or use [Mirror.Copy]. CopyKeys returns the first
// error; a retry is safe.
func CopyKeys(ctx context.Context, from, to redis.Sender, keys []string) error {
	dumps, err := dump(ctx, from, keys)
	if err != nil {
		return err
	}
	reqs := make([]redis.Request, len(keys))
	for i, d := range dumps {
		reqs[i] = redis.Req("RESTORE", keys[i], max(d.ttl, 0), d.value, "REPLACE")
		if d.value == nil {
			reqs[i] = redis.Req("DEL", keys[i])
		}
	}
	return redis.FirstError(redis.SyncCtx{S: redis.WithRetry(to, redis.RetryOpts{})}.SendMany(ctx, reqs))
}

// dumped is the value of a key as DUMP returns it (nil if the key does not exist) and its time to live in
// milliseconds (0 or less if the key has none).
type dumped struct {
	value []byte
	ttl   int64
}

func dump(ctx context.Context, from redis.Sender, keys []string) ([]dumped, error) {
	reqs := make([]redis.Request, 0, 2*len(keys))
	for _, key := range keys {
		reqs = append(reqs, redis.Req("DUMP", key), redis.Req("PTTL", key))
	}
	results := redis.SyncCtx{S: redis.WithRetry(from, redis.RetryOpts{})}.SendMany(ctx, reqs)
	if err := redis.FirstError(results); err != nil {
		return nil, err
	}
	dumps := make([]dumped, len(keys))
	for i := range dumps {
		dumps[i].value, _ = results[2*i].([]byte)
		dumps[i].ttl, _ = results[2*i+1].(int64)
		if dumps[i].ttl == -2 { // the key has expired since the DUMP
			dumps[i].value = nil
		}
	}
	return dumps, nil
}

// contents holds the command that reads a whole value, for each type of value.
var contents = map[string][]any{
	"string": {"GET"}, "hash": {"HGETALL"}, "set": {"SMEMBERS"},
	"list": {"LRANGE", 0, -1}, "zset": {"ZRANGE", 0, -1, "WITHSCORES"}, "stream": {"XRANGE", "-", "+"},
}

// Compare returns the keys that differ in two databases: by their values, or by more than two seconds
// in their times to live. It compares the results of DUMP. If these differ, as they do between
// versions, it compares the values. A key that is written at the same time may seem different. Values
// are read as a whole.
func Compare(ctx context.Context, a, b redis.Sender, keys []string) (different []string, err error) {
	ofA, err := dump(ctx, a, keys)
	if err != nil {
		return nil, err
	}
	ofB, err := dump(ctx, b, keys)
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		x, y := ofA[i], ofB[i]
		lives := (x.ttl < 0) == (y.ttl < 0) && max(x.ttl, y.ttl)-min(x.ttl, y.ttl) <= ttlSlack
		same := lives && (x.value == nil) == (y.value == nil)
		if same && !bytes.Equal(x.value, y.value) {
			if same, err = sameValue(ctx, a, b, key); err != nil {
				return different, err
			}
		}
		if !same {
			different = append(different, key)
		}
	}
	return different, nil
}

// sameValue reads and compares the values of a key.
func sameValue(ctx context.Context, a, b redis.Sender, key string) (same bool, err error) {
	var digests [2]digest
	for i, s := range []redis.Sender{a, b} {
		db := redis.SyncCtx{S: redis.WithRetry(s, redis.RetryOpts{})}
		kind, err := redis.As[string](db.Do(ctx, "TYPE", key))
		if err != nil {
			return false, err
		}
		read, known := contents[kind]
		if !known {
			return false, nil // no command reads a value of this type, so only DUMP can compare it
		}
		cmd := read[0].(string)
		res := db.Do(ctx, cmd, append([]any{key}, read[1:]...)...)
		if err := redis.Err(res); err != nil {
			return false, err
		}
		digests[i] = digestOf(cmd, res) + digestOfValue(kind)
	}
	return digests[0] == digests[1], nil
}
