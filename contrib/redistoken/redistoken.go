// Package redistoken authenticates with expiring tokens, such as those that cloud providers
// accept instead of passwords. [Tokens] holds the current token for new connections, and renews it
// on open connections before it expires, so that no request notices.
//
// Its packages awsiam and entraid get the tokens of AWS and of Microsoft Entra ID. For others, write
// a [Source], which is a function.
package redistoken

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/redisconn"
)

// ErrExpired: a [Source] has returned a token that has already expired or has no
// Expires.
var ErrExpired = errors.New("redistoken: the token has expired")

// sourceTimeout bounds each call of a source: two attempts with a slow identity
// service.
const sourceTimeout = 30 * time.Second

// Token has credentials and the time when they expire. It prints without the password.
type Token struct {
	redisconn.Credentials
	Expires time.Time
}

// Source returns a token. It may return the same token again until that is about to expire. It
// is never called concurrently. ctx ends after at most 30 s.
type Source func(ctx context.Context) (Token, error)

// Tokens gets tokens from a source, one after the other. It is safe for concurrent
// use.
type Tokens struct {
	source Source
	failed func(error)
	kept   atomic.Pointer[kept]
	asking chan struct{} // holds the running call of source
}

// kept is a token with the times that follow from its lifetime.
type kept struct {
	Token
	got   time.Time     // with the monotonic clock
	due   time.Duration // age at which Run asks for the next token
	until time.Duration // age after which the token is no longer sent: the server's clock may be ahead
}

// age returns how long a token has been kept: the greater of the times on the wall clock and on the
// monotonic clock. The first may be set back, and the second stops while a machine sleeps.
func (k *kept) age() time.Duration {
	return max(time.Since(k.got), time.Now().Round(0).Sub(k.got.Round(0)))
}

// New returns Tokens that use a source. failed is called with each error of the source or of a
// client in [Tokens.Run], but not with the errors that [Tokens.Credentials] returns. An error of
// a source may contain a secret. If failed is nil, the types of the errors are logged with
// [log/slog].
func New(source Source, failed func(error)) *Tokens {
	if failed == nil {
		failed = warn
	}
	return &Tokens{source: source, failed: failed, asking: make(chan struct{}, 1)}
}

// Credentials is for [redisconn.Opts.CredentialsProvider]. It returns the current token, or a new one
// if there is none or the current one is in the last twentieth of its lifetime. It
// may return after ctx is done, because it waits for the source, so that the next caller finds the
// token.
func (t *Tokens) Credentials(ctx context.Context) (redisconn.Credentials, error) {
	k, err := t.get(ctx, context.WithoutCancel(ctx), func(k *kept) time.Duration { return k.until })
	if err != nil {
		return redisconn.Credentials{}, err
	}
	return k.Credentials, nil
}

// renewLeast is the least age of a token that Renew drops. It is longer than dialing, so that a
// connection that was refused with the old token does not make Renew drop the new one.
const renewLeast = 10 * time.Second

// Renew makes the next connection ask the source for a new token. Use it if a server refuses the current
// token before it has expired, because it was revoked. Call it from a logger, when a connection fails
// with [redisconn.ErrAuth]. It does nothing within 10 s after the source returned a token.
func (t *Tokens) Renew() {
	if k := t.kept.Load(); k != nil && k.age() >= renewLeast {
		t.kept.CompareAndSwap(k, nil)
	}
}

// get returns the current token, or a new one if the current one has reached the age that end returns.
// waiting bounds the wait for another call of the source, and calling bounds its own call.
func (t *Tokens) get(waiting, calling context.Context, end func(*kept) time.Duration) (*kept, error) {
	if k := t.kept.Load(); k != nil && k.age() < end(k) {
		return k, nil
	}
	select {
	case t.asking <- struct{}{}:
		defer func() { <-t.asking }()
	case <-waiting.Done():
		return nil, context.Cause(waiting)
	}
	k := t.kept.Load()
	if k != nil && k.age() < end(k) {
		return k, nil // another call has got it in the meantime
	}
	ctx, cancel := context.WithTimeout(calling, sourceTimeout)
	defer cancel()
	token, err := t.source(ctx)
	if err != nil {
		return nil, err
	}
	if k != nil && k.Credentials == token.Credentials && k.Expires.Equal(token.Expires) && time.Now().Before(k.Expires) {
		return k, nil // the source has returned the same token, so it stays due
	}
	k, err = keep(token)
	if err == nil {
		t.kept.Store(k)
	}
	return k, err
}

// keep returns a new token with its times. It is due after 70 to 80 % of its lifetime, at random,
// so that programs that were started together don't ask together.
func keep(token Token) (*kept, error) {
	now := time.Now()
	token.Expires = token.Expires.Round(0) // only by the wall clock: the monotonic clock stops while a machine sleeps
	life := token.Expires.Sub(now)
	if token.Expires.IsZero() || life <= 0 {
		return nil, ErrExpired
	}
	due := time.Duration((0.7 + 0.1*rand.Float64()) * float64(life))
	return &kept{Token: token, got: now, due: due, until: life - life/20}, nil
}
