package redisvirtual

import (
	"strconv"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
	"github.com/joomcode/redispipe/redisvirtual/internal/replies"
)

const (
	multiRequest = "*1\r\n$5\r\nMULTI\r\n"
	execRequest  = "*1\r\n$4\r\nEXEC\r\n"
)

// transaction holds the requests since MULTI. The library sends them when EXEC arrives.
type transaction struct {
	buf     []byte
	ends    []int // where the requests end in buf
	added   int   // how many bytes the prefix adds at most
	refused bool  // one of the requests was refused
	told    int   // how many replies to MULTI and the requests the library has given to the client
}

// tell gives the client the replies to MULTI and to the requests after it that it has not got yet. It is
// called at the end of each Write, because the client may wait for these replies before it sends EXEC. If
// EXEC arrives with the same Write, the server's replies are used instead.
func (c *conn) tell() {
	tx := c.tx
	for ; tx != nil && tx.told <= len(tx.ends); tx.told++ {
		if tx.told == 0 {
			c.answer([]byte(proto.OK))
		} else {
			c.answer([]byte(proto.Queued))
		}
	}
}

// inTransaction handles a request behind MULTI.
func (c *conn) inTransaction(name string, r *send.Request) (done bool) {
	tx := c.tx
	if name == "EXEC" {
		return c.exec()
	}
	queues, unknown, added := c.mayQueue(name, r), c.unknownKeys(r), c.prefixAdds(r)
	if queues && unknown == nil && len(tx.buf)+tx.added+len(r.Buf)+added <= proto.Most {
		tx.added += added
		tx.buf = append(tx.buf, r.Buf...)
		tx.ends = append(tx.ends, len(tx.buf))
		return true
	}
	c.tell()
	switch name {
	case "MULTI":
		c.answer(proto.AppendError(nil, "ERR MULTI calls can not be nested"))
		return true
	case "WATCH":
		c.answer(proto.AppendError(nil, "ERR WATCH inside MULTI is not allowed"))
		return true
	case "DISCARD":
		return c.discard([]byte(proto.OK))
	}
	tx.refused = true
	why := "ERR Command not allowed inside a transaction"
	switch {
	case c.to.OnShards(r) != "":
		why = everyMaster(c.to.OnShards(r))
	case queues && unknown != nil:
		why = "ERR " + unknown.Message()
	case queues:
		why = "ERR The transaction is larger than a server accepts"
	}
	c.answer(proto.AppendError(nil, why))
	return true
}

// mayQueue reports whether a request may be part of a transaction on the shared connection.
func (c *conn) mayQueue(name string, r *send.Request) bool {
	switch name {
	case "SELECT":
		args := proto.Words(r.Buf)
		return len(args) == 1 && proto.Text(args[0]) == strconv.Itoa(c.to.DB)
	case "CLIENT":
		args := proto.Words(r.Buf)
		if len(args) == 0 {
			return true
		}
		sub := proto.Upper(args[0])
		return r.Shared == command.Allowed && sub != "SETNAME" && sub != "GETNAME" && sub != "SETINFO" && command.Lookup("CLIENT "+sub) != nil
	case "UNWATCH":
		return true
	}
	return r.Shared != command.ChangesProtocol && r.Shared != command.ChangesSession && c.to.OnShards(r) == ""
}

// exec handles EXEC.
func (c *conn) exec() (done bool) {
	tx := c.tx
	switch {
	case tx.refused:
		return c.discard(proto.AppendError(nil, "EXECABORT Transaction discarded because of previous errors."))
	case (c.watching || c.to.Several) && !c.served:
		return false
	}
	c.tx = nil
	f := c.stream.NewFlight()
	c.fill(f, tx)
	switch {
	case c.watching:
		c.exchange(f)
		c.leaveSession()
	case c.to.Several:
		if c.openSession(keysOf(f.Reqs[1:len(f.Reqs)-1]), f) {
			c.exchange(f)
			c.leaveSession()
		}
	default:
		c.broken(c.launch(f, c.asking))
	}
	return true
}

// discard ends WATCH and MULTI, if there were any, without sending the transaction. answer is the reply.
func (c *conn) discard(answer []byte) (done bool) {
	if c.watching && !c.served {
		return false
	}
	c.tell()
	c.tx = nil
	c.leaveSession()
	c.answer(answer)
	return true
}

// fill adds the requests of the transaction to f. The client will read only the replies that it has not got
// yet.
func (c *conn) fill(f *replies.Flight, tx *transaction) {
	add := func(buf []byte) {
		r := f.Add()
		c.to.Describe(r, buf)
		r.Shared = command.Allowed // commands do not block in a transaction
	}
	add([]byte(multiRequest))
	start := 0
	for _, end := range tx.ends {
		add(tx.buf[start:end:end])
		start = end
	}
	add([]byte(execRequest))
	f.Transaction(tx.told)
}
