package changes

import (
	"context"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
)

// Dedicated is the connection of a session. It calls Changed with the keys that a request may change when
// the reply arrives; for a request in a transaction, it does so again when the reply to EXEC arrives.
type Dedicated struct {
	send.Dedicated
	Changed func(Set)
	// multi is set while a transaction is open. queued has the keys that its requests may change.
	multi  bool
	queued Set
}

// Exchange implements send.Dedicated.
func (d *Dedicated) Exchange(ctx context.Context, reqs []send.Request, each func(i int, res any)) error {
	sets := make([]Set, len(reqs))
	for i := range reqs {
		sets[i] = Of(&reqs[i])
	}
	answered := 0
	err := d.Dedicated.Exchange(ctx, reqs, func(i int, res any) {
		answered = i + 1
		d.Changed(sets[i])
		switch call := command.Lookup(reqs[i].Cmd); {
		case call.Named("MULTI"): // even within a transaction, which it may not end
			d.multi = true
		case call.Named("EXEC"), call.Named("DISCARD"):
			d.Changed(d.queued)
			d.multi, d.queued = false, Set{}
		case d.multi:
			d.queued.Add(sets[i])
		}
		each(i, res)
	})
	if answered < len(reqs) { // the connection is lost, and all requests may have run
		d.Changed(d.queued)
		for _, s := range sets {
			d.Changed(s)
		}
	}
	return err
}
