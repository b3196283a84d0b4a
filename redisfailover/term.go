package redisfailover

import (
	"context"
	"fmt"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// term is the time in which a member is active. A request, a session and an iterator belong to the term
// in which they begin.
type term struct {
	member *member
	sender redis.Sender
	inner  send.Inner[redis.Future] // of sender; nil if it is of another library
	slots  bool                     // inner wants them
	once   bool                     // sender resolves each request once, and then forgets its future
	active func() *term

	ctx context.Context // ends with the term, and with the client
	end context.CancelFunc
}

// begin begins a term of a member that is open.
func (c *Client) begin(m *member) *term {
	t := &term{member: m, sender: m.sender, active: c.active.Load}
	t.inner, t.once = innerOf(m.sender)
	t.slots = t.inner != nil && t.inner.WantsSlot()
	t.ctx, t.end = context.WithCancel(c.ctx)
	return t
}

// over reports whether another member is active.
func (t *term) over() bool { return t.active() != t }

// left says that the term is over.
func (t *term) left() string {
	return fmt.Sprintf("%s is not the active member any more", t.member.name)
}

// innerOf returns what s has for packages of this module, or nil. once is set for connections and clusters,
// which resolve each request once, and then forget its future; a cache may still ask it.
func innerOf(s redis.Sender) (inner send.Inner[redis.Future], once bool) {
	if inner = backend.InnerOf(s); inner != nil {
		return inner, true
	}
	if cache, ok := s.(interface {
		Memory(send.Key) send.Memory[redis.Future]
	}); ok {
		if memory := cache.Memory(send.Key{Held: s}); memory != nil {
			return memory, false
		}
	}
	return nil, false
}

// plain returns s without retries, or the sender that s stands for, if s itself has no inner methods.
func plain(s redis.Sender) redis.Sender {
	s = redis.WithRetry(s, redis.NoRetry)
	if inner, _ := innerOf(s); inner != nil {
		return s
	}
	if handle, ok := s.(interface{ Delegate(send.Key) redis.Sender }); ok {
		if d := handle.Delegate(send.Key{Held: s}); d != nil {
			return d
		}
	}
	return s
}
