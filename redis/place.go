package redis

import (
	"sync"

	"github.com/joomcode/redispipe/internal/wire"
)

// placed is the part of a future that keeps where the last answer came from.
type placed struct {
	wanted bool
	where  sync.Mutex // guards place
	place  wire.Place
}

// Observes implements wire.Observer.
func (p *placed) Observes() bool { return p.wanted }

// AnsweredBy implements wire.Observer.
func (p *placed) AnsweredBy(place wire.Place) {
	p.where.Lock()
	defer p.where.Unlock()
	p.place = place
}

func (p *placed) last() wire.Place {
	p.where.Lock()
	defer p.where.Unlock()
	return p.place
}
