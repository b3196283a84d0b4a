// Package migration has the same small service on each client, for the guide in
// docs/migration.md: a cache, sessions, a leaderboard, and a job that scans.
package migration

import (
	"context"
	"errors"
	"time"
)

// Service is the service, which each client implements in its own way.
type Service interface {
	// User returns a user out of the cache, or loads and caches it.
	User(ctx context.Context, id string) (User, error)
	// SaveSession stores a session for sessionTTL, as a whole or not at all.
	SaveSession(ctx context.Context, id string, s Session) error
	// Session returns a session, or ErrNoSession.
	Session(ctx context.Context, id string) (Session, error)
	// Score adds points to a player's score, and returns the sum.
	Score(ctx context.Context, player string, points float64) (float64, error)
	// Top returns the best n players, the best one first.
	Top(ctx context.Context, n int) ([]Rank, error)
	// Purge deletes the keys that match a pattern, and returns how many there were.
	Purge(ctx context.Context, pattern string) (int, error)
	Close()
}

// User is the value in the cache, as JSON.
type User struct {
	Name string
	Age  int
}

// Session is stored as a hash.
type Session struct {
	User   string `redis:"user"`
	Visits int64  `redis:"visits"`
}

// Rank is a line of the leaderboard.
type Rank struct {
	Player string
	Score  float64
}

// ErrNoSession is returned for a session that does not exist.
var ErrNoSession = errors.New("no such session")

const (
	userTTL    = time.Minute
	sessionTTL = time.Hour
)

// loader loads users that are not in the cache.
type loader func(ctx context.Context, id string) (User, error)
