package outgoing

import (
	"slices"
	"sync"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// observed is what hooks are told of the requests of a flight, whose future asks for the place.
type observed struct {
	ends  [][]func(res any, at wire.Place) // by request, and by hook, the innermost first
	where sync.Mutex                       // guards at
	at    wire.Place
}

// Hook is a hook around the sender.
type Hook interface {
	Observe(a wire.Ask, kind redis.OperationKind, reqs []redis.Request) (end func(res any, at wire.Place))
}

// observe begins the operations that the requests of f are: one for each, or a transaction.
func (f *Flight) observe(hooks []Hook) {
	f.observed = &observed{ends: make([][]func(any, wire.Place), len(f.Reqs))}
	reqs := make([]redis.Request, len(f.Reqs))
	for i := range f.Reqs {
		f.Reqs[i].Observed = f.Observes()
		reqs[i] = redis.Request{Cmd: f.Reqs[i].Cmd, Args: f.Reqs[i].Args()}
	}
	for _, h := range hooks {
		if f.whole {
			f.observed.add(len(reqs)-1, h.Observe(wire.Ask{}, redis.OperationTransaction, reqs[1:len(reqs)-1]))
			continue
		}
		for i := range reqs {
			f.observed.add(i, h.Observe(wire.Ask{}, redis.OperationRequest, reqs[i:i+1]))
		}
	}
}

func (o *observed) add(i int, end func(any, wire.Place)) {
	o.ends[i] = slices.Insert(o.ends[i], 0, end)
}

// end tells the hooks what the request of index n has ended with: an error, or a value, which
// nobody decodes.
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

// Observes implements wire.Observer. Where the requests of a flight go to different servers, it is
// not known which has answered which.
func (f *Flight) Observes() bool {
	return f.observed != nil && (!f.to.terms.Several || len(f.Reqs) == 1)
}

// AnsweredBy implements wire.Observer.
func (f *Flight) AnsweredBy(at wire.Place) {
	if o := f.observed; o != nil {
		o.where.Lock()
		defer o.where.Unlock()
		o.at = at
	}
}

var _ wire.Observer = (*Flight)(nil)
