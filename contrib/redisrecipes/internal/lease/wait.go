package lease

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/redispubsub"
)

// Wait makes attempts, in turn with other goroutines that wait for the same key, until one returns an error, or no
// time to wait.
func (t *Turns) Wait(ctx context.Context, db Client, key string, attempt func(context.Context) (time.Duration, error)) error {
	end, err := t.Take(ctx, key)
	if err != nil {
		return err
	}
	defer end()
	wait, err := attempt(ctx)
	if err != nil || wait <= 0 {
		return err
	}
	return Listen(ctx, db, key, attempt)
}

// Listen makes attempts until one returns an error, or no time to wait: the first once it has
// subscribed to the channel, and each later one after a message or a gap, or after the time that the
// previous attempt returned.
func Listen(ctx context.Context, db Client, channel string, attempt func(context.Context) (time.Duration, error)) error {
	sub := db.Subscriber().NewSubscription(redispubsub.SubscriptionOpts{MaxMessages: 1}) // one message in the buffer is enough to wake it
	defer sub.Close()
	if err := sub.Subscribe(ctx, redispubsub.Channel(channel)); err != nil {
		return err
	}
	events := sub.Chan(ctx)
	for {
		wait, err := attempt(ctx)
		if err != nil || wait <= 0 {
			return err
		}
		timer := time.NewTimer(wait + time.Millisecond) // a little later, when the lease has surely ended
		select {
		case _, open := <-events:
			if !open && ctx.Err() == nil {
				err = sub.Err()
				if err == nil {
					err = redispubsub.ErrClosed.New("the subscription has ended")
				}
			}
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
}
