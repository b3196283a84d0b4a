package redis

import (
	"sync"

	"github.com/joomcode/redispipe/internal/wire"
)

// lastPlace is the part of a future that keeps where the last answer came from.
type lastPlace struct {
	where sync.Mutex // guards place
	place wire.Place
}

// AnsweredBy implements wire.Observer. A reader may come with the answer of a transaction's
// first request when the connection is lost and its end has been resolved.
func (l *lastPlace) AnsweredBy(place wire.Place) {
	l.where.Lock()
	defer l.where.Unlock()
	l.place = place
}

func (l *lastPlace) last() wire.Place {
	l.where.Lock()
	defer l.where.Unlock()
	return l.place
}

// placed is lastPlace if that is wanted.
type placed struct {
	wanted bool
	lastPlace
}

// Observes implements wire.Observer.
func (p *placed) Observes() bool { return p.wanted }
