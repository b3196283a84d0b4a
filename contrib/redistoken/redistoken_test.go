package redistoken

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
)

// issuer is a Source whose tokens are numbered. It fails while err is set, and returns the
// last token again while that has more than renewable left.
type issuer struct {
	mu        sync.Mutex
	life      time.Duration
	renewable time.Duration
	err       error
	last      Token
	issued    int
	calls     int
}

func (i *issuer) token(context.Context) (Token, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.calls++
	if i.err != nil {
		return Token{}, i.err
	}
	if i.renewable > 0 && time.Until(i.last.Expires) > i.renewable {
		return i.last, nil
	}
	i.issued++
	i.last = Token{redisconn.Credentials{Username: "me", Password: fmt.Sprint(i.issued)}, time.Now().Add(i.life)}
	return i.last, nil
}

func (i *issuer) fail(err error) {
	i.mu.Lock()
	i.err = err
	i.mu.Unlock()
}

// counts returns how often the issuer was called, and how many tokens it has issued.
func (i *issuer) counts() (calls, issued int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.calls, i.issued
}

func password(t *testing.T, tokens *Tokens) string {
	t.Helper()
	cr, err := tokens.Credentials(t.Context())
	require.NoError(t, err)
	require.Equal(t, "me", cr.Username)
	return cr.Password
}

func TestTokenIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour}
		tokens := New(i.token, nil)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { assert.Equal(t, "1", password(t, tokens)) })
		}
		wg.Wait()
		time.Sleep(56 * time.Minute)
		require.Equal(t, "1", password(t, tokens))
		time.Sleep(2 * time.Minute) // into the last twentieth of the token's life
		require.Equal(t, "2", password(t, tokens))
		calls, _ := i.counts()
		require.Equal(t, 2, calls)
	})
}

// A token that a server refused is replaced at once. Many connections may report the refusal, some
// of them late.
func TestRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour}
		tokens := New(i.token, nil)
		tokens.Renew() // does nothing, because there is no token yet
		require.Equal(t, "1", password(t, tokens))
		time.Sleep(time.Minute)
		tokens.Renew()
		require.Equal(t, "2", password(t, tokens))
		tokens.Renew()
		require.Equal(t, "2", password(t, tokens))
	})
}

func TestSourceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		i := &issuer{life: time.Hour, err: broken}
		tokens := New(i.token, nil)
		_, err := tokens.Credentials(t.Context())
		require.ErrorIs(t, err, broken)
		i.fail(nil)
		require.Equal(t, "1", password(t, tokens))
		i.fail(broken)
		require.Equal(t, "1", password(t, tokens), "it is valid")
		time.Sleep(time.Hour)
		_, err = tokens.Credentials(t.Context())
		require.ErrorIs(t, err, broken, "no token that has expired")
	})
	for name, expires := range map[string]time.Time{"expired": time.Now().Add(-time.Second), "without an end": {}} {
		tokens := New(func(context.Context) (Token, error) { return Token{Expires: expires}, nil }, nil)
		_, err := tokens.Credentials(t.Context())
		require.ErrorIs(t, err, ErrExpired, name)
	}
}

// After a machine has slept, no expired token is sent, although the monotonic clock stopped. If the
// wall clock was set back, the monotonic clock counts.
func TestAge(t *testing.T) {
	k, err := keep(Token{Expires: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	require.Less(t, k.age(), k.due)
	got := k.got
	k.got = got.Round(0).Add(-58 * time.Minute) // Round(0) removes the reading of the monotonic clock
	require.Greater(t, k.age(), k.until)
	k.got = got.Add(-58 * time.Minute)
	require.Greater(t, k.age(), k.until)
}

// If a source returns an expired token again, this counts as a failure.
func TestSourceReturnsWhatHasExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := Token{redisconn.Credentials{Username: "me", Password: "1"}, time.Now().Add(time.Hour)}
		tokens := New(func(context.Context) (Token, error) { return token, nil }, nil)
		require.Equal(t, "1", password(t, tokens))
		time.Sleep(59 * time.Minute)
		require.Equal(t, "1", password(t, tokens), "it is valid")
		time.Sleep(time.Minute)
		_, err := tokens.Credentials(t.Context())
		require.ErrorIs(t, err, ErrExpired)
	})
}

// If a token arrives too late for the caller that has asked for it, the next caller gets it. A waiting caller leaves
// when its own context ends.
func TestSourceIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour}
		tokens := New(func(ctx context.Context) (Token, error) {
			time.Sleep(10 * time.Second)
			if ctx.Err() != nil {
				return Token{}, ctx.Err()
			}
			return i.token(ctx)
		}, nil)
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() { _, _ = tokens.Credentials(impatient) }()
		synctest.Wait()
		_, err := tokens.Credentials(impatient)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, "1", password(t, tokens))
		calls, _ := i.counts()
		require.Equal(t, 1, calls)
	})
}

// If a source does not return, its context ends after half a minute.
func TestSourceHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := New(func(ctx context.Context) (Token, error) {
			<-ctx.Done()
			return Token{}, ctx.Err()
		}, nil)
		_, err := tokens.Credentials(t.Context())
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestTokenHidesThePassword(t *testing.T) {
	token := Token{redisconn.Credentials{Username: "me", Password: "canary"}, time.Now()}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		require.NotContains(t, fmt.Sprintf(format, token), "canary")
		require.NotContains(t, fmt.Sprintf(format, &token), "canary")
	}
}
