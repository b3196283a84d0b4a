// Package redisgin is a store for the sessions of [github.com/gin-contrib/sessions]:
//
//	router.Use(sessions.Sessions("visits", redisgin.New(client, key)))
//
// The guide is docs/adapters.md.
package redisgin

import (
	"github.com/gin-contrib/sessions"

	"github.com/joomcode/redispipe/contrib/redissessions"
	"github.com/joomcode/redispipe/redis"
)

// Store is a [redissessions.Store] with the additional method that gin's sessions need. If a session can't be
// read, gin's sessions log the error, and the handler gets a new session. Session.Save returns the errors of
// writing.
type Store struct{ *redissessions.Store }

var _ sessions.Store = (*Store)(nil)

// New returns a store: see [redissessions.New] for the keys.
func New(s redis.Sender, keyPairs ...[]byte) *Store {
	return &Store{redissessions.New(s, keyPairs...)}
}

// Options sets the options of new sessions, and their age: see [redissessions.Store.MaxAge]. Call it before the
// first use.
func (s *Store) Options(options sessions.Options) {
	s.Store.Options = options.ToGorillaOptions()
	s.MaxAge(options.MaxAge)
}
