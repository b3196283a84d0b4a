package redisconn

import (
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

const (
	// DoAsking makes SendBatchFlags send ASKING first.
	DoAsking = 1 << iota
	// DoTransaction makes SendBatchFlags wrap the requests into MULTI and EXEC.
	DoTransaction
)

// What the library puts around requests.
var (
	asking = own("ASKING")
	multi  = own("MULTI")
	exec   = own("EXEC")
)

func own(cmd string) *wire.Request {
	r, _, _ := redis.EncodeRequest(nil, redis.Req(cmd), false)
	return &r
}

// addOwn adds a request of the library's own.
func (b *batch) addOwn(r *wire.Request, fut Future, n, seq uint64, st *stat) {
	b.add(r, fut, n, seq, st)
	b.items[len(b.items)-1].waits = wire.Waits(fut)
	b.own++
}

// addMulti adds MULTI, whose result the future of a transaction has to know.
func (b *batch) addMulti(fut Future, n, seq uint64, st *stat) {
	b.addOwn(multi, fut, n, seq, st)
	b.items[len(b.items)-1].multi = true
}

// addExec adds EXEC, whose result is that of the transaction.
func (b *batch) addExec(fut Future, n, seq uint64, st *stat) {
	b.addOwn(exec, fut, n, seq, st)
	it := &b.items[len(b.items)-1]
	it.exec, it.plain, it.observed = true, fut != nil, wire.Observes(fut)
	b.plain = b.plain || it.plain
}

// isOwn reports whether a future is that of a request of the library's own.
func isOwn(fut Future) bool {
	switch fut.(type) {
	case *heartbeat, wire.Own:
		return true
	}
	return false
}
