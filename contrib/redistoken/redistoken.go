// Package redistoken authenticates with tokens that expire, such as those that cloud providers
// take instead of passwords. [Tokens] keeps the current one for new connections, and renews it
// on open connections before it expires, so that no request notices.
//
// Its packages awsiam and entraid make the tokens of AWS and of Microsoft Entra ID. Any
// other [Source] is a function.
package redistoken

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/redisconn"
)

// ErrExpired: a [Source] has returned a token that has expired already, or that has no
// Expires.
var ErrExpired = errors.New("redistoken: the token has expired")

// sourceTimeout bounds each call of a source: two attempts of an identity service that
// takes long.
const sourceTimeout = 30 * time.Second

// Token is what to authenticate with, and until when. It prints without the password.
type Token struct {
	redisconn.Credentials
	Expires time.Time
}

// Source returns a token. It may return the same one again until that is near its end; it
// is not called twice at the same time. ctx ends after 30 s at the latest.
type Source func(ctx context.Context) (Token, error)

// Tokens are the tokens of a source, one after the other. It is safe for use by many
// goroutines.
type Tokens struct {
	source Source
	failed func(error)
	kept   atomic.Pointer[kept]
	asking chan struct{} // holds the call of source that is under way
}

// kept is a token with the times that follow from how long it lives.
type kept struct {
	Token
	got   time.Time     // by both clocks
	due   time.Duration // after it Run asks for the next one
	until time.Duration // after it the token is not sent any more: the server's clock may be ahead
}

// age is how long a token is kept: by the clock on the wall, or by the one that measures time if that
// says more. The first may be set back, and the second stops while a machine sleeps.
func (k *kept) age() time.Duration {
	return max(time.Since(k.got), time.Now().Round(0).Sub(k.got.Round(0)))
}

// New makes Tokens of a source. failed is called with each error of the source or of a
// client that [Tokens.Run] meets, and with none that [Tokens.Credentials] returns; an error of
// a source may hold a secret. If failed is nil, the types of the errors are logged with
// [log/slog].
func New(source Source, failed func(error)) *Tokens {
	if failed == nil {
		failed = warn
	}
	return &Tokens{source: source, failed: failed, asking: make(chan struct{}, 1)}
}

// Credentials is for [redisconn.Opts.CredentialsProvider]. It returns the token that is kept,
// or if there is none, or that is within the last twentieth of its life, a new one. It
// may return after ctx is done, when the source does, so that the next to ask finds the token.
func (t *Tokens) Credentials(ctx context.Context) (redisconn.Credentials, error) {
	k, err := t.get(ctx, context.WithoutCancel(ctx), func(k *kept) time.Duration { return k.until })
	if err != nil {
		return redisconn.Credentials{}, err
	}
	return k.Credentials, nil
}

// renewLeast is how old a token is at least that Renew drops. It is more than dialing takes, so that
// connections that were refused with the last one do not say so of the next.
const renewLeast = 10 * time.Second

// Renew has the source asked for a new token, because a server refuses the one that is kept before it
// has expired: it was revoked. Call it from a logger, when a connection fails with
// [redisconn.ErrAuth]. It does nothing within 10 s after a token was got.
func (t *Tokens) Renew() {
	if k := t.kept.Load(); k != nil && k.age() >= renewLeast {
		t.kept.CompareAndSwap(k, nil)
	}
}

// get returns the token that is kept, or from the age that end tells, a new one. waiting bounds
// how long it waits for another call of the source, and calling its own.
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
		return k, nil // another call has brought it
	}
	ctx, cancel := context.WithTimeout(calling, sourceTimeout)
	defer cancel()
	token, err := t.source(ctx)
	if err != nil {
		return nil, err
	}
	if k != nil && k.Credentials == token.Credentials && k.Expires.Equal(token.Expires) && time.Now().Before(k.Expires) {
		return k, nil // it is still due
	}
	k, err = keep(token)
	if err == nil {
		t.kept.Store(k)
	}
	return k, err
}

// keep is a token that was got now. It is due after 70 to 80 % of its life, drawn for each token,
// so that programs that were started together don't ask together.
func keep(token Token) (*kept, error) {
	now := time.Now()
	token.Expires = token.Expires.Round(0) // by the clock on the wall alone: the other stops while a machine sleeps
	life := token.Expires.Sub(now)
	if token.Expires.IsZero() || life <= 0 {
		return nil, ErrExpired
	}
	due := time.Duration((0.7 + 0.1*rand.Float64()) * float64(life))
	return &kept{Token: token, got: now, due: due, until: life - life/20}, nil
}
