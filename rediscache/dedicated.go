package rediscache

import (
	"context"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
)

// dedicated is the connection of a session. It evicts the keys that a request changes when the reply
// arrives; for a request in a transaction, it does so again when the reply to EXEC arrives.
type dedicated struct {
	send.Dedicated
	core *core
	// multi is set while a transaction is open. queued has the keys that its requests may change.
	multi  bool
	queued written
}

// Exchange implements send.Dedicated.
func (d *dedicated) Exchange(ctx context.Context, reqs []send.Request, each func(i int, res any)) error {
	changes := make([]written, len(reqs))
	for i := range reqs {
		if reqs[i].Is("SWAPDB") {
			return errSwap()
		}
		changes[i] = writtenBy(&reqs[i])
	}
	answered := 0
	err := d.Dedicated.Exchange(ctx, reqs, func(i int, res any) {
		answered = i + 1
		d.core.changed(changes[i])
		switch call := command.Lookup(reqs[i].Cmd); {
		case call.Named("MULTI"): // even if a transaction is open: MULTI does not end it
			d.multi = true
		case call.Named("EXEC"), call.Named("DISCARD"):
			d.core.changed(d.queued)
			d.multi, d.queued = false, written{}
		case d.multi:
			d.queued.add(changes[i])
		}
		each(i, res)
	})
	if answered < len(reqs) { // the connection is lost, and all requests may have run
		d.core.changed(d.queued)
		for _, change := range changes {
			d.core.changed(change)
		}
	}
	return err
}
