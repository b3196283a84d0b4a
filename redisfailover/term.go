package redisfailover

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// term is the time in which a member is active. A request, a session or an iterator belongs to the term
// in which it begins.
type term struct {
	member  *member
	sender  redis.Sender
	backend send.Backend[redis.Future] // the backend of sender; nil if sender is not one of this library
	slots   bool                       // backend needs the slots of requests
	once    bool                       // sender resolves each request once, and does not use its future after that
	nodes   backend.Nodes              // where subscribers subscribe; nil if the member has none
	began   time.Time
	back    atomic.Pointer[ramp] // set while keys move from this member to the preferred one

	failed atomic.Bool // the term has ended because its member is down

	ctx context.Context // ends with the term, but not with the client, because members end their own requests when they are closed
	end context.CancelFunc
}

// begin begins a term of a member that is open.
func (c *Client) begin(m *member) *term {
	t := &term{member: m, sender: m.sender, nodes: nodesOf(m.opened), began: time.Now()}
	t.backend, t.once = backendOf(m.sender)
	t.slots = t.backend != nil && t.backend.WantsSlot()
	t.ctx, t.end = context.WithCancel(context.Background())
	return t
}

// over reports whether the term has ended.
func (t *term) over() bool { return t.ctx.Err() != nil }

// errLeft is the reason why a request is not sent again: its member is down and no longer active.
var errLeft = errors.New("the request is not sent again to a member that is down")

// left returns the error text of requests whose term is over.
func (t *term) left() string {
	return fmt.Sprintf("%s is not the active member any more", t.member.name)
}

// backendOf returns the backend of s, or nil. once is set for connections and clusters, which do not use a
// future after they have resolved it. A cache may.
func backendOf(s redis.Sender) (to send.Backend[redis.Future], once bool) {
	to = send.BackendOf[redis.Future](s)
	_, caches := to.(send.Memory[redis.Future])
	return to, to != nil && !caches
}

// plain returns s without retries.
func plain(s redis.Sender) redis.Sender {
	s = redis.WithRetry(s, redis.NoRetry)
	if d, is := send.DelegateOf[redis.Future](s); is {
		return d
	}
	return s
}
