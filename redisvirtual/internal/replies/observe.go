package replies

import (
	"slices"
	"sync"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// observed holds the operations of hooks for the requests of a flight.
type observed struct {
	ends  [][]func(res any, at send.Server) // for each request, the functions that end the operations, the innermost hook's first
	where sync.Mutex                        // guards at
	at    send.Server
}

// Hook is a hook around the sender.
type Hook interface {
	Observe(kind redis.OperationKind, reqs []redis.Request) (end func(res any, at send.Server))
}

// observe starts the operations for the requests of f: one for each, or one for a transaction.
func (f *Flight) observe(hooks []Hook) {
	f.observed = &observed{ends: make([][]func(any, send.Server), len(f.Reqs))}
	reqs := make([]redis.Request, len(f.Reqs))
	for i := range f.Reqs {
		f.Reqs[i].Observed = f.Observes()
		reqs[i] = redis.Request{Cmd: f.Reqs[i].Cmd, Args: f.Reqs[i].Args()}
	}
	for _, h := range hooks {
		if f.whole {
			f.observed.add(len(reqs)-1, h.Observe(redis.OperationTransaction, reqs[1:len(reqs)-1]))
			continue
		}
		for i := range reqs {
			f.observed.add(i, h.Observe(redis.OperationRequest, reqs[i:i+1]))
		}
	}
}

func (o *observed) add(i int, end func(any, send.Server)) {
	o.ends[i] = slices.Insert(o.ends[i], 0, end)
}

// end ends the operations of the request with index n. The hooks get its error, or nil instead of a value,
// because values are not decoded.
func (o *observed) end(n int, r *reply, refused *errorx.Error) {
	o.where.Lock()
	at := o.at
	o.where.Unlock()
	var res any
	switch {
	case r.lost != nil:
		res = r.lost
	case refused != nil:
		res = refused
	}
	for _, end := range o.ends[n] {
		end(res, at)
	}
}

// Observes implements send.Observer. If the requests of a flight go to different servers, it is not
// known which server has answered which request.
func (f *Flight) Observes() bool {
	return f.observed != nil && (!f.to.terms.Several || len(f.Reqs) == 1)
}

// AnsweredBy implements send.Observer.
func (f *Flight) AnsweredBy(at send.Server) {
	if o := f.observed; o != nil {
		o.where.Lock()
		defer o.where.Unlock()
		o.at = at
	}
}

var _ send.Observer = (*Flight)(nil)
