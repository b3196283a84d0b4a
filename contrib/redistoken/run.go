package redistoken

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// Client is a [redisconn.Connection], a cluster, or a client of redispipe.Open, whose
// CredentialsProvider is [Tokens.Credentials].
type Client interface {
	Reauthenticate(ctx context.Context) error
}

// Run makes the clients authenticate again, at once and then with each new token. It asks for the next
// token after about three quarters of the current one's lifetime. After a failure it tries again within
// a tenth of the token's remaining time, but after at least half a second and at most 30 s; until then
// the connections keep using their token.
//
// Call it in a separate goroutine, once for all clients. It returns when ctx is done or all
// clients are closed, which it notices at the next token.
func (t *Tokens) Run(ctx context.Context, clients ...Client) {
	var used *kept // the token that all clients use
	for {
		k, err := t.get(ctx, ctx, func(k *kept) time.Duration { return k.due })
		if err == nil && k != used {
			if clients, err = reauthenticate(ctx, clients); len(clients) == 0 {
				return
			}
			if err == nil {
				used = k
			}
		}
		if err != nil && ctx.Err() == nil {
			t.failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(t.pause(err != nil)):
		}
	}
}

// longestPause is the longest time before Run looks at the clock again. Timers don't
// notice when the clock is set or the machine sleeps.
const longestPause = time.Minute

// pause returns how long Run waits before it asks again.
func (t *Tokens) pause(failed bool) time.Duration {
	k, pause := t.kept.Load(), time.Second
	if k != nil {
		if rest := k.due - k.age(); rest > 0 && !failed {
			return min(rest, longestPause)
		}
		pause = min(max(pause, time.Until(k.Expires)/10), 30*time.Second)
	}
	return pause/2 + rand.N(pause/2)
}

// reauthenticate makes all clients authenticate again, at the same time. It returns the clients that are
// not closed, and an error if one of them still uses an older token.
func reauthenticate(ctx context.Context, clients []Client) (open []Client, failure error) {
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	errs := make([]error, len(clients))
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() { errs[i] = c.Reauthenticate(ctx) })
	}
	wg.Wait()
	for i, c := range clients {
		err := redis.AsErrorx(errs[i])
		switch {
		case err != nil && err.IsOfType(redis.ErrContextClosed):
			continue
		case err != nil && (err.IsOfType(redisconn.ErrNotConnected) || err.IsOfType(redis.ErrIO)):
			// The socket is gone, and the next one asks for credentials.
		case errs[i] != nil:
			failure = errs[i]
		}
		open = append(open, c)
	}
	return open, failure
}

// warn logs the type of an error, because its text may contain a secret. If a server has refused a
// client, that client's logger reports it.
func warn(err error) {
	slog.Warn("redis token not renewed", slog.String("cause", fmt.Sprintf("%T", err)))
}
