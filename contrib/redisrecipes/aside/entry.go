package aside

import (
	"context"
	"strconv"
	"time"

	"github.com/joomcode/redispipe/contrib/redisrecipes/internal/lease"
	"github.com/joomcode/redispipe/redis"
)

// An entry is stored as a byte for its kind, the server's time when it was stored (15 digits, in milliseconds), and
// the value.
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

// parse decodes an entry.
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

// read returns the stored entry, or nil if there is none. The entry may come from Opts.Memory.
func (c *Cache) read(ctx context.Context, k keys) (*entry, error) {
	raw, err := redis.DoAs[[]byte](ctx, c.db, "GET", k.entry)
	if err != nil || raw == nil {
		return nil, err
	}
	return parse(raw)
}
