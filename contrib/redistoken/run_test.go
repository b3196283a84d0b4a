package redistoken

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// holder is a client that records the passwords with which it was told to authenticate.
type holder struct {
	tokens *Tokens
	mu     sync.Mutex
	err    error // the error that Reauthenticate returns; nil if it succeeds
	calls  int
	got    []receipt // when each new password arrived, in order
}

type receipt struct {
	password string
	at       time.Time
}

func (h *holder) Reauthenticate(ctx context.Context) error {
	cr, err := h.tokens.Credentials(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls++
	if h.err != nil {
		return h.err
	}
	if n := len(h.got); err == nil && (n == 0 || h.got[n-1].password != cr.Password) {
		h.got = append(h.got, receipt{cr.Password, time.Now()})
	}
	return err
}

func (h *holder) fail(err error) {
	h.mu.Lock()
	h.err = err
	h.mu.Unlock()
}

// state returns how often the holder was called, and what it got.
func (h *holder) state() (calls int, got []receipt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls, h.got
}

// failures records the errors that a Tokens reports.
type failures struct {
	mu   sync.Mutex
	errs []error
}

func (f *failures) add(err error) {
	f.mu.Lock()
	f.errs = append(f.errs, err)
	f.mu.Unlock()
}

func (f *failures) all() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.errs
}

// run starts Run for two clients, until the test ends. over is closed when Run returns.
func run(t *testing.T, source Source) (tokens *Tokens, a, b *holder, failed *failures, over chan struct{}) {
	failed, over = &failures{}, make(chan struct{})
	tokens = New(source, failed.add)
	a, b = &holder{tokens: tokens}, &holder{tokens: tokens}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(over)
		tokens.Run(ctx, a, b)
	}()
	t.Cleanup(func() {
		cancel()
		<-over
	})
	return tokens, a, b, failed, over
}

// Run gives all clients a new token when 70 to 80 % of the last token's life are over.
func TestRunRenews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour}
		_, a, b, failed, _ := run(t, i.token)
		time.Sleep(12*time.Hour + time.Minute)
		synctest.Wait()
		calls, got := a.state()
		_, others := b.state()
		require.Equal(t, got, others)
		require.Len(t, got, calls)
		require.GreaterOrEqual(t, calls, 15)
		require.LessOrEqual(t, calls, 18)
		pauses := map[time.Duration]bool{}
		for n := range got[1:] {
			pause := got[n+1].at.Sub(got[n].at)
			require.GreaterOrEqual(t, pause, 42*time.Minute)
			require.LessOrEqual(t, pause, 48*time.Minute)
			pauses[pause] = true
		}
		require.Greater(t, len(pauses), calls/2, "drawn for each token")
		require.Empty(t, failed.all())
		asked, issued := i.counts()
		require.Equal(t, calls, asked)
		require.Equal(t, calls, issued)
	})
}

// While the source fails, Run asks it again, and clients keep their token. A new socket gets the old token as long as
// that is valid.
func TestRunWhenSourceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, broken := &issuer{life: time.Hour}, errors.New("broken")
		tokens, a, _, failed, _ := run(t, i.token)
		time.Sleep(time.Minute)
		i.fail(broken)
		time.Sleep(55 * time.Minute)
		require.Equal(t, "1", password(t, tokens))
		require.NotEmpty(t, failed.all())
		asked, _ := i.counts()
		require.Less(t, asked, 80)
		for _, err := range failed.all() {
			require.Equal(t, broken, err)
		}
		calls, _ := a.state()
		require.Equal(t, 1, calls, "there is no other token")
		i.fail(nil)
		time.Sleep(time.Minute)
		_, got := a.state()
		require.Len(t, got, 2)

		i.fail(broken)
		time.Sleep(3 * time.Hour) // until the token has expired
		i.fail(nil)
		time.Sleep(time.Second)
		synctest.Wait()
		_, got = a.state()
		require.Len(t, got, 3, "after a second at the latest, once the token has expired")
	})
}

// A source may return the same token until shortly before that expires, because some SDKs keep tokens themselves.
func TestRunWhenSourceKeepsTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour, renewable: 5 * time.Minute}
		_, a, _, failed, _ := run(t, i.token)
		time.Sleep(10 * time.Hour)
		synctest.Wait()
		calls, got := a.state()
		require.Len(t, got, calls)
		require.GreaterOrEqual(t, calls, 10)
		for n := range got[1:] {
			pause := got[n+1].at.Sub(got[n].at)
			require.GreaterOrEqual(t, pause, 55*time.Minute)
			require.LessOrEqual(t, pause, 56*time.Minute)
		}
		require.Empty(t, failed.all())
	})
}

// While a source hangs, callers with a valid token do not wait for it.
func TestRunWhenSourceHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour}
		var hangs atomic.Bool
		tokens, _, _, failed, _ := run(t, func(ctx context.Context) (Token, error) {
			if hangs.Load() {
				<-ctx.Done()
				return Token{}, ctx.Err()
			}
			return i.token(ctx)
		})
		time.Sleep(time.Minute)
		hangs.Store(true)
		for range 55 * 60 {
			time.Sleep(time.Second)
			began := time.Now()
			require.Equal(t, "1", password(t, tokens))
			require.Equal(t, began, time.Now(), "by a clock that only waits move")
		}
		require.NotEmpty(t, failed.all())
	})
}

func TestRunWhenClientFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: time.Hour}
		_, a, b, failed, over := run(t, i.token)
		time.Sleep(time.Minute)
		refused := redis.Err(redisconn.ErrAuth.New("refused"))
		a.fail(refused)
		time.Sleep(50 * time.Minute)
		calls, got := a.state()
		require.Greater(t, calls, 3, "it is asked again")
		require.Len(t, got, 1)
		_, got = b.state()
		require.Len(t, got, 2)
		require.Equal(t, refused, failed.all()[0])

		a.fail(redis.Err(redisconn.ErrNotConnected.New("not connected")))
		time.Sleep(time.Minute)
		calls, _ = a.state()
		reported := len(failed.all())
		time.Sleep(20 * time.Minute)
		again, _ := a.state()
		require.Equal(t, calls, again, "its next socket asks by itself")
		require.Len(t, failed.all(), reported)

		a.fail(redis.Err(redis.ErrContextClosed.New("closed")))
		time.Sleep(time.Hour)
		calls, _ = a.state()
		time.Sleep(2 * time.Hour)
		again, _ = a.state()
		require.Equal(t, calls, again, "it is closed")
		_, got = b.state()
		require.Len(t, got, 6)
		b.fail(redis.Err(redis.ErrContextClosed.New("closed")))
		<-over
	})
}

// Each token belongs to another user. When the next token is in use, the server deletes the former user, and would
// close that user's connections. No request fails, and no connection is lost.
func TestRunWithServer(t *testing.T) {
	server := testbed.NewServer(t)
	u := &users{t: t, server: server}
	tokens := New(u.token, func(err error) { t.Error(err) })
	log := &losses{}
	conn, err := redisconn.Connect(t.Context(), server.Addr(), redisconn.Opts{
		CredentialsProvider: tokens.Credentials, Logger: log, IOTimeout: time.Minute,
	})
	require.NoError(t, err)
	defer conn.Close()

	load, stop := context.WithCancel(t.Context())
	defer stop()
	var wg sync.WaitGroup
	var requests atomic.Int64
	db := redis.Sync{S: conn}
	for g := range 8 {
		wg.Go(func() {
			for load.Err() == nil {
				key := fmt.Sprint("key", g)
				assert.NoError(t, redis.Err(db.Do("SET", key, "value")))
				_, err := db.Transact([]redis.Request{redis.Req("INCR", key+"n"), redis.Req("GET", key)})
				assert.NoError(t, err)
				requests.Add(1)
			}
		})
	}
	running, end := context.WithCancel(t.Context())
	wg.Go(func() { tokens.Run(running, deleting{conn, u}) })
	require.Eventually(t, func() bool { return u.deletedMost() >= 5 }, time.Minute, time.Millisecond)
	end()
	stop()
	wg.Wait()
	t.Logf("%d rounds of requests, %d users deleted", requests.Load(), u.deletedMost())
	require.Positive(t, requests.Load())
	require.Zero(t, log.lost.Load())
}

// users is a Source that makes a user of a server for each token.
type users struct {
	t       *testing.T
	server  *testbed.Server
	mu      sync.Mutex
	made    int
	deleted int
}

func (u *users) token(context.Context) (Token, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.made++
	name := fmt.Sprint("user", u.made)
	assert.Equal(u.t, "OK", u.server.Do("ACL SETUSER", name, "on", ">secret", "~*", "&*", "+@all"))
	return Token{redisconn.Credentials{Username: name, Password: "secret"}, time.Now().Add(200 * time.Millisecond)}, nil
}

func (u *users) deletedMost() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.deleted
}

// deleting is a connection. When it has authenticated again, all earlier users are deleted.
type deleting struct {
	*redisconn.Connection
	users *users
}

func (d deleting) Reauthenticate(ctx context.Context) error {
	u := d.users
	u.mu.Lock()
	current := u.made
	u.mu.Unlock()
	if err := d.Connection.Reauthenticate(ctx); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.deleted+1 < current {
		u.deleted++
		assert.EqualValues(u.t, 1, u.server.Do("ACL DELUSER", fmt.Sprint("user", u.deleted)))
	}
	return nil
}

// losses is a logger that counts connections that were lost.
type losses struct {
	redisconn.NoopLogger
	lost atomic.Int64
}

func (l *losses) Report(_ *redisconn.Connection, event redisconn.LogEvent) {
	if _, lost := event.(redisconn.LogDisconnected); lost {
		l.lost.Add(1)
	}
}

// A timer does not notice that the clock was set, or that the machine has slept. So Run reads the clock once a minute.
func TestRunLooksAtTheClock(t *testing.T) {
	tokens := New((&issuer{life: time.Hour}).token, nil)
	require.Equal(t, "1", password(t, tokens))
	require.LessOrEqual(t, tokens.pause(false), time.Minute)
	k := *tokens.kept.Load()
	k.got = k.got.Round(0).Add(-50 * time.Minute) // as if the machine had slept
	tokens.kept.Store(&k)
	require.Less(t, tokens.pause(false), time.Minute)
	k.got = k.got.Add(-9 * time.Minute)
	require.Equal(t, "2", password(t, tokens))
}
