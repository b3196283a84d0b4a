package lease

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/redispubsub"
)

// Wait calls attempt until it returns an error, or 0 as the time to wait. It first waits for its turn among the
// goroutines that wait for the same key.
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

// Listen calls attempt until it returns an error, or 0 as the time to wait. It makes the first attempt when it has
// subscribed to the channel. It makes each later one after a message or a gap, or after the time that the
// previous attempt has returned.
func Listen(ctx context.Context, db Client, channel string, attempt func(context.Context) (time.Duration, error)) error {
	sub := db.Subscriber().NewSubscription(redispubsub.SubscriptionOpts{MaxMessages: 1}) // one message in the buffer is enough to cause an attempt
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
		timer := time.NewTimer(wait + time.Millisecond) // a little longer, so that the lease has certainly ended
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
