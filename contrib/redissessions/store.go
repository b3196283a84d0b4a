// Package redissessions is a store for the sessions of [github.com/gorilla/sessions]:
//
//	store := redissessions.New(client, key)
//	…
//	session, err := store.Get(r, "visits")
//
// Module contrib/redisgin makes it a store for the sessions of gin. The guide is docs/adapters.md.
package redissessions

import (
	"bytes"
	"crypto/rand"
	"encoding/gob"
	"fmt"
	"net/http"
	"time"

	"github.com/gorilla/securecookie"
	"github.com/gorilla/sessions"

	"github.com/joomcode/redispipe/redis"
)

const (
	// prefix is put before each ID. github.com/boj/redistore uses the same, and encodes values in the
	// same way.
	prefix = "session_"
	// month is how long a browser keeps cookies by default, as with gorilla's other stores.
	month = 30 * 24 * time.Hour
	// browserAge is how long the session of a cookie without an age is kept after each Save.
	browserAge = 24 * time.Hour
)

// Store keeps the values of a session in Redis, and its ID in a cookie that is authenticated, and encrypted
// if there is a key for that. It implements [sessions.Store], and is safe for concurrent use, except for
// Options. It holds no resources: close the Sender instead.
//
// Requests use the context of the HTTP request. Errors are those of the Sender, of gob and of
// securecookie. If Save returns an error that matches redis.ErrUnknown, the session may be stored
// or deleted; calling Save again is safe. Of two requests that save a session, the later one
// replaces all values.
type Store struct {
	// Options are those of new sessions: path /, 30 days, HttpOnly and [http.SameSiteLaxMode] by default. Change them before
	// the first use, except the age, which [Store.MaxAge] sets.
	Options *sessions.Options

	db     redis.SyncCtx
	codecs []securecookie.Codec
}

var _ sessions.Store = (*Store)(nil)

// New returns a store with the keys of [securecookie.CodecsFromPairs]: one of 32 or 64 bytes to authenticate the
// cookie, then optionally one of 16, 24 or 32 bytes to encrypt it, then pairs of older keys that are
// still accepted. To share a database, pass the result of [redis.WithPrefix].
func New(s redis.Sender, keyPairs ...[]byte) *Store {
	store := &Store{
		Options: &sessions.Options{Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode},
		db:      redis.SyncCtx{S: s},
		codecs:  securecookie.CodecsFromPairs(keyPairs...),
	}
	store.MaxAge(int(month / time.Second))
	return store
}

// MaxAge sets the age of new sessions and of their cookies, in seconds after the last Save. With 0 the browser forgets the
// cookie when it is closed, and the store keeps the session for 24 hours after the last Save.
func (s *Store) MaxAge(seconds int) {
	s.Options.MaxAge = seconds
	for _, codec := range s.codecs {
		if c, ok := codec.(*securecookie.SecureCookie); ok {
			c.MaxAge(max(0, seconds)) // 0: the age of the cookie is not checked, and the age of the key decides
		}
	}
}

// Get returns the session of a request. It reads it once for each request.
func (s *Store) Get(r *http.Request, name string) (*sessions.Session, error) {
	return sessions.GetRegistry(r).Get(s, name)
}

// New returns the session of a request, or a new one if the request has no valid cookie or the session
// has ended. If the session can't be read, New returns a new one, and the error. Saving the new
// one does not change the other.
func (s *Store) New(r *http.Request, name string) (*sessions.Session, error) {
	session := sessions.NewSession(s, name)
	options := *s.Options
	session.Options = &options
	session.IsNew = true
	cookie, err := r.Cookie(name)
	if err != nil {
		return session, nil // there is no cookie
	}
	var id string
	if err := securecookie.DecodeMulti(name, cookie.Value, &id, s.codecs...); err != nil {
		return session, err
	}
	b, err := redis.As[[]byte](s.db.Do(r.Context(), "GET", prefix+id))
	if err != nil || b == nil {
		return session, err
	}
	values := map[any]any{}
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&values); err != nil {
		return session, fmt.Errorf("redissessions: decoding a session: %w", err)
	}
	session.ID, session.Values, session.IsNew = id, values, false
	return session, nil
}

// Save stores a session, and sets the cookie of the response. With a negative Options.MaxAge it deletes
// both. After an error it sets no cookie.
func (s *Store) Save(r *http.Request, w http.ResponseWriter, session *sessions.Session) error {
	if session.Options.MaxAge < 0 {
		if session.ID != "" {
			if err := redis.Err(s.db.Do(r.Context(), "DEL", prefix+session.ID)); err != nil {
				return err
			}
		}
		http.SetCookie(w, sessions.NewCookie(session.Name(), "", session.Options))
		return nil
	}
	if session.ID == "" {
		session.ID = rand.Text()
	}
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(session.Values); err != nil {
		return fmt.Errorf("redissessions: encoding a session: %w", err)
	}
	cookie, err := securecookie.EncodeMulti(session.Name(), session.ID, s.codecs...)
	if err != nil {
		return err
	}
	age := session.Options.MaxAge
	if age == 0 {
		age = int(browserAge / time.Second)
	}
	if err := redis.Err(s.db.Do(r.Context(), "SET", prefix+session.ID, b.Bytes(), "EX", age)); err != nil {
		return err
	}
	http.SetCookie(w, sessions.NewCookie(session.Name(), cookie, session.Options))
	return nil
}
