package send

import (
	"context"

	"github.com/joomcode/redispipe/internal/command"
)

// ChangingDedicated is the connection of a session. When the reply to a request arrives, it calls
// Changed with the keys that the request may change. For a request in a transaction, it calls
// Changed again when the reply to EXEC arrives.
type ChangingDedicated struct {
	Dedicated
	Changed func(Changes)
	// multi is set while a transaction is open. queued has the keys that its requests may change.
	multi  bool
	queued Changes
}

// Exchange implements Dedicated.
func (d *ChangingDedicated) Exchange(ctx context.Context, reqs []Request, each func(i int, res any)) error {
	sets := make([]Changes, len(reqs))
	for i := range reqs {
		sets[i] = reqs[i].Changes()
	}
	answered := 0
	err := d.Dedicated.Exchange(ctx, reqs, func(i int, res any) {
		answered = i + 1
		d.Changed(sets[i])
		switch call := command.Lookup(reqs[i].Cmd); {
		case call.Named("MULTI"): // a MULTI within a transaction does not end the transaction
			d.multi = true
		case call.Named("EXEC"), call.Named("DISCARD"):
			d.Changed(d.queued)
			d.multi, d.queued = false, Changes{}
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
