// Package redisscs stores the sessions of [github.com/alexedwards/scs/v2] in Redis:
//
//	sessions := scs.New()
//	sessions.Store = redisscs.New(client)
//
// The guide is docs/adapters.md.
package redisscs

import (
	"context"
	"time"

	"github.com/alexedwards/scs/v2"

	"github.com/joomcode/redispipe/redis"
)

// prefix is put before each token. The stores of scs for Redis use the same prefix, and store the same bytes.
const prefix = "scs:session:"

// page is how many sessions All reads in one batch.
const page = 256

// Store keeps sessions as strings under "scs:session:" and the token. It implements [scs.CtxStore],
// [scs.IterableStore] and [scs.IterableCtxStore], and is safe for concurrent use. It holds no
// resources: close the Sender instead.
//
// Errors are those of the Sender. Every method may be called again after any error. If Commit or Delete
// returns an error that matches redis.ErrUnknown, the session may be stored or deleted.
type Store struct{ db redis.SyncCtx }

var (
	_ scs.CtxStore         = (*Store)(nil)
	_ scs.IterableStore    = (*Store)(nil)
	_ scs.IterableCtxStore = (*Store)(nil)
)

// New returns a store. To share a database, pass the result of [redis.WithPrefix].
func New(s redis.Sender) *Store { return &Store{db: redis.SyncCtx{S: s}} }

// FindCtx returns the data of a session, and reports whether there is one.
func (s *Store) FindCtx(ctx context.Context, token string) (b []byte, found bool, err error) {
	res := s.db.Do(ctx, "GET", prefix+token)
	if res == nil {
		return nil, false, nil
	}
	b, err = redis.As[[]byte](res)
	return b, err == nil, err
}

// CommitCtx stores a session until expiry. The time left counts by the clock of this process, in
// milliseconds, so the clock of the server does not matter. If none is left, CommitCtx deletes the session.
func (s *Store) CommitCtx(ctx context.Context, token string, b []byte, expiry time.Time) error {
	left := time.Until(expiry).Milliseconds()
	if left <= 0 {
		return s.DeleteCtx(ctx, token)
	}
	return redis.Err(s.db.Do(ctx, "SET", prefix+token, b, "PX", left))
}

// DeleteCtx deletes a session, if there is one.
func (s *Store) DeleteCtx(ctx context.Context, token string) error {
	return redis.Err(s.db.Do(ctx, "DEL", prefix+token))
}

// AllCtx returns all sessions by token. It iterates over all keys of the database with SCAN: sessions that are
// stored or deleted at the same time may be missing. After an error it returns no sessions.
func (s *Store) AllCtx(ctx context.Context) (map[string][]byte, error) {
	sessions := map[string][]byte{}
	var tokens []string
	for key, err := range redis.Keys(ctx, s.db.S, redis.ScanOpts{Match: prefix + "*", Count: page}) {
		if err != nil {
			return nil, err
		}
		if tokens = append(tokens, key[len(prefix):]); len(tokens) < page {
			continue
		}
		if err := s.read(ctx, sessions, tokens); err != nil {
			return nil, err
		}
		tokens = tokens[:0]
	}
	if err := s.read(ctx, sessions, tokens); err != nil {
		return nil, err
	}
	return sessions, nil
}

// read reads the sessions of tokens that have not ended in the meantime.
func (s *Store) read(ctx context.Context, sessions map[string][]byte, tokens []string) error {
	reqs := make([]redis.Request, len(tokens))
	for i, token := range tokens {
		reqs[i] = redis.Req("GET", prefix+token)
	}
	for i, res := range s.db.SendMany(ctx, reqs) {
		b, err := redis.As[[]byte](res)
		if err != nil {
			return err
		}
		if b != nil {
			sessions[tokens[i]] = b
		}
	}
	return nil
}

// Find is FindCtx without a context.
func (s *Store) Find(token string) (b []byte, found bool, err error) {
	return s.FindCtx(context.Background(), token)
}

// Commit is CommitCtx without a context.
func (s *Store) Commit(token string, b []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), token, b, expiry)
}

// Delete is DeleteCtx without a context.
func (s *Store) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }

// All is AllCtx without a context.
func (s *Store) All() (map[string][]byte, error) { return s.AllCtx(context.Background()) }
