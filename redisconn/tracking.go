package redisconn

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/resp"
)

// tracking holds the functions that a tracking connection calls: see backend.Conn.
type tracking struct {
	told  func(*resp.Push)
	ended func()
	alone bool         // copied from the connection that it tracks keys for
	like  *dial.Dialer // the dialer of that connection
}

// trackers are the connections that track keys, in addition to the shared one.
type trackers struct {
	mu   sync.Mutex // guards the fields below
	open map[*Connection]struct{}
	user string // the user of the last new credentials, or empty if there were none
	left int    // how often the shared connection has left its server in a hand-over
	shut bool   // no more connections may be added
}

// add adds a connection. It returns false in three cases: new credentials have changed the user since the connection
// was dialed; the shared connection was handed over since then; or the shared connection is shutting down. before is
// the result of leaves before the connection was dialed.
func (t *trackers) add(c *Connection, user string, before int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shut || t.left != before || t.user != "" && t.user != user {
		return false
	}
	if t.open == nil {
		t.open = map[*Connection]struct{}{}
	}
	t.open[c] = struct{}{}
	return true
}

// leaves returns how often the shared connection has left its server.
func (t *trackers) leaves() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.left
}

// leave ends the tracking connections after a hand-over. The earlier server may not report later changes.
func (t *trackers) leave() {
	t.mu.Lock()
	t.left++
	t.mu.Unlock()
	for _, c := range t.all() {
		c.endTracking()
	}
}

// endTracking closes a tracking connection, and tells its user before that.
func (c *Connection) endTracking() {
	c.tracking.ended()
	c.Close()
}

func (t *trackers) remove(c *Connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, c)
}

// all returns the tracking connections.
func (t *trackers) all() []*Connection {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.open))
}

// drain makes all tracking connections, including later ones, refuse new requests. The returned
// channel is closed when the accepted requests are answered.
func (t *trackers) drain() <-chan struct{} {
	t.mu.Lock()
	t.shut = true
	t.mu.Unlock()
	open := t.all()
	for _, c := range open {
		c.pipe.Drain() // drain all of them before waiting for any
	}
	drained := make(chan struct{})
	go func() { // ends when the requests are answered or the connections are closed
		defer close(drained)
		for _, c := range open {
			select {
			case <-c.pipe.Drain():
			case <-c.ctx.Done():
			}
		}
	}()
	return drained
}

// unanswered counts the accepted requests that are not answered.
func (t *trackers) unanswered() (unsent, unknown int) {
	for _, c := range t.all() {
		notSent, inFlight := c.pipe.Left()
		unsent, unknown = unsent+notSent, unknown+inFlight
	}
	return unsent, unknown
}

// authenticate sends AUTH on the connections of the same user. It closes those of other users,
// because values that were read as one user must not go to another. It does not wait for the
// replies.
func (t *trackers) authenticate(ctx context.Context, cr Credentials) {
	t.mu.Lock()
	t.user = userOf(cr)
	t.mu.Unlock()
	for _, c := range t.all() {
		if c.sockets.Load().user == userOf(cr) {
			_, _ = c.sendAuth(ctx, cr) // if the server refuses cr, it does so on the shared socket, too
			continue
		}
		c.endTracking()
	}
}

// userOf returns the server's name for the user.
func userOf(cr Credentials) string { return cmp.Or(cr.Username, "default") }
