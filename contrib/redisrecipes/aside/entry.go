package aside

import (
	"context"
	"strconv"
	"time"

	"github.com/joomcode/redispipe/contrib/redisrecipes/internal/lease"
	"github.com/joomcode/redispipe/redis"
)

// An entry is kept as its kind, the time of the server when it was stored, in milliseconds and 15 digits, and the
// value.
const (
	found     = 'v'
	notFound  = 'n'
	failed    = 'f' // never stored: a loader has failed
	headerLen = 1 + 15
)

type entry struct {
	kind  byte
	made  time.Time
	value []byte
}

// parse returns an entry.
func parse(raw []byte) (*entry, error) {
	if len(raw) < headerLen || raw[0] != found && raw[0] != notFound {
		return nil, lease.ErrAnswer
	}
	made, err := strconv.ParseInt(string(raw[1:headerLen]), 10, 64)
	if err != nil {
		return nil, lease.ErrAnswer
	}
	return &entry{kind: raw[0], made: time.UnixMilli(made), value: raw[headerLen:]}, nil
}

// ended reports whether an entry is too old by the clock of the client. If so, the server decides by
// its own clock.
func (e *entry) ended(ttl time.Duration) bool {
	return e.kind == found && time.Since(e.made) >= ttl
}

// result returns the results of Get.
func (e *entry) result() ([]byte, error) {
	switch e.kind {
	case notFound:
		return nil, ErrNotFound
	case failed:
		return nil, ErrLoad
	}
	return e.value, nil
}

// read returns the entry that is kept, or nil. It may come from the memory of the process.
func (c *Cache) read(ctx context.Context, k keys) (*entry, error) {
	raw, err := redis.DoAs[[]byte](ctx, c.db, "GET", k.entry)
	if err != nil || raw == nil {
		return nil, err
	}
	return parse(raw)
}
