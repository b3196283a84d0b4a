package rediscache

import (
	"context"

	"github.com/joomcode/redispipe/internal/send"
)

// dedicated is the connection of a session. It evicts the keys that a request may change.
type dedicated struct{ send.ChangingDedicated }

// Exchange implements send.Dedicated.
func (d *dedicated) Exchange(ctx context.Context, reqs []send.Request, each func(i int, res any)) error {
	for i := range reqs {
		if reqs[i].Is("SWAPDB") {
			return errSwap()
		}
	}
	return d.ChangingDedicated.Exchange(ctx, reqs, each)
}
