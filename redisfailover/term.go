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
	t.backend = send.BackendOf[redis.Future](m.sender)
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

// Judged implements send.Judge.
func (t *term) Judged(res any, sample uint64) any {
	err, failed := res.(error)
	if !failed {
		t.member.answered(sample)
		return res
	}
	t.member.note(err, sample)
	return t.explained(err)
}

// explained returns the error of a request. If the request was not sent again because of [errLeft], the error
// says so, and has the outcome of err.
func (t *term) explained(err error) error {
	typed := redis.AsErrorx(err)
	if redis.CausedBy(err, errLeft) && !typed.HasTrait(redis.ErrTraitNotSent) {
		return redis.ErrIO.New("%s: %s", t.left(), typed.Message()) // with this error, redis.WithRetry may send a read to another member
	}
	return err
}

// Left implements send.Judge. A cluster calls it before it sends a request again. If the member is down and no
// longer active, Left returns an error, so that redis.WithRetry can send the request to the member that is
// active.
func (t *term) Left() error {
	if t.failed.Load() {
		return errLeft
	}
	return nil
}

// Context implements send.Judge.
func (t *term) Context() context.Context { return t.ctx }

var _ send.Judge = (*term)(nil)
