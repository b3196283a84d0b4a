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

// Run has the clients authenticate again, at once and then with each new token, which it asks
// for when about three quarters of the last one's life are over. What fails is tried again after
// up to a tenth of the time that the token has left, but half a second at least and 30 at most; meanwhile
// the connections go on with the token that they have.
//
// Call it in a goroutine of its own, once for all clients. It returns when ctx is done or all
// clients are closed, which it finds at the next token.
func (t *Tokens) Run(ctx context.Context, clients ...Client) {
	var used *kept // what all clients have
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

// longestPause is how long Run waits at the most before it looks at the clock again. Timers don't
// notice that the clock was set, nor that the machine has slept.
const longestPause = time.Minute

// pause is how long Run waits until it asks again.
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

// reauthenticate has clients authenticate again, all at once, and returns those that are not
// closed, with an error of one that goes on with an older token.
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

// warn logs that something failed, without what may be a secret. What a client has refused, that
// client's logger tells.
func warn(err error) {
	slog.Warn("redis has no newer token", slog.String("cause", fmt.Sprintf("%T", err)))
}
