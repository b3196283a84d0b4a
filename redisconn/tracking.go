package redisconn

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/joomcode/redispipe/internal/resp"
)

// tracking is whom a connection tells of the keys that were read on it. See inner.Conn.
type tracking struct {
	told  func(*resp.Push)
	ended func()
}

// trackers are the connections beside the shared one that are tracking keys.
type trackers struct {
	mu   sync.Mutex // guards what follows
	open map[*Connection]struct{}
	user string // of the last new credentials, if there were any
}

// add adds a connection, unless it is of another user than it would be by now.
func (t *trackers) add(c *Connection, user string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.user != "" && t.user != user {
		return false
	}
	if t.open == nil {
		t.open = map[*Connection]struct{}{}
	}
	t.open[c] = struct{}{}
	return true
}

func (t *trackers) remove(c *Connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, c)
}

// authenticate sends AUTH on those of the same user, and ends the others: what was read as one
// user is not for another. It does not wait for the replies.
func (t *trackers) authenticate(ctx context.Context, cr Credentials) {
	t.mu.Lock()
	t.user = userOf(cr)
	open := slices.Collect(maps.Keys(t.open))
	t.mu.Unlock()
	for _, c := range open {
		if addrs := c.sockets.Load(); addrs != nil && addrs.user == userOf(cr) {
			_, _ = c.sendAuth(ctx, cr) // what is refused is refused on the shared socket, too
			continue
		}
		c.tracking.ended()
		c.Close()
	}
}

// userOf is the name that the server has for a user.
func userOf(cr Credentials) string { return cmp.Or(cr.Username, "default") }
