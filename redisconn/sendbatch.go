package redisconn

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/wire"
)

// SendMany implements redis.Sender. The requests go out as one batch; if one
// of them is malformed, none is sent.
func (c *Connection) SendMany(reqs []Request, cb Future, start uint64) {
	c.SendBatch(reqs, cb, start)
}

// SendBatch sends requests in order, as one batch. If one of them is malformed,
// it ends with its own error, the rest with redis.ErrBatchFormat.
func (c *Connection) SendBatch(reqs []Request, cb Future, start uint64) {
	c.SendBatchFlags(reqs, cb, start, 0)
}

// SendBatchFlags is [Connection.SendBatch] with the flags DoAsking and DoTransaction.
// With DoTransaction, cb is resolved for each request with the answer within MULTI
// ("QUEUED"), and with start+len(reqs) for the answer to EXEC.
func (c *Connection) SendBatchFlags(reqs []Request, cb Future, start uint64, flags int) {
	if flags&DoTransaction != 0 {
		cb, start = c.newTransaction(cb, start, len(reqs), false), 1
	} else if len(reqs) == 0 {
		return
	}
	c.sendBatch(reqs, cb, start, flags)
}

// sendBatch sends requests; with DoTransaction cb is a *transaction, and start is 1.
func (c *Connection) sendBatch(reqs []Request, cb Future, start uint64, flags int) {
	scratch := wire.GetScratch()
	defer wire.PutScratch(scratch)
	encoded := make([]wire.Request, len(reqs))
	refs := make([]*wire.Request, len(reqs))
	for i, req := range reqs {
		var err *errorx.Error
		if encoded[i], err = c.encode(&scratch.Buf, req, cb); err == nil {
			err = c.checkEncoded(&encoded[i], flags)
		}
		if err != nil {
			c.refuseBatch(reqs, cb, start, flags, err, i)
			return
		}
		refs[i] = &encoded[i]
	}
	last, err := c.enter(refs, cb, start, flags)
	if err != nil {
		c.refuseBatch(reqs, cb, start, flags, err, -1)
		return
	}
	wire.Queued(cb, last)
}

// SendTransaction implements redis.Sender: cb is resolved with the array that EXEC
// answers. Without requests nothing is sent, and cb is resolved at once with an empty
// array.
func (c *Connection) SendTransaction(reqs []Request, cb Future, start uint64) {
	if len(reqs) == 0 {
		wire.ResolveEmpty(cb, start)
		return
	}
	c.sendBatch(reqs, c.newTransaction(cb, start, len(reqs), true), 1, DoTransaction)
}
