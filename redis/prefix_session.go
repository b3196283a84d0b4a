package redis

import (
	"context"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/prefix"
	"github.com/joomcode/redispipe/internal/send"
)

// prefixedDedicated is the connection of a session whose keys have a prefix.
type prefixedDedicated struct {
	send.Dedicated
	prefix prefix.Prefix
	// multi is set while a transaction is open. queued tells for each of its requests where the
	// reply contains names.
	multi  bool
	queued []prefix.Names
}

// Exchange implements send.Dedicated. If a request is refused, Exchange sends nothing.
func (d *prefixedDedicated) Exchange(ctx context.Context, reqs []send.Request, each func(i int, res any)) error {
	stored, names := make([]send.Request, len(reqs)), make([]prefix.Names, len(reqs))
	for i, r := range reqs {
		_, of, err := d.prefix.Encoded(nil, &r, true)
		if err != nil {
			return err.WithProperty(errs.EKRequest, Request{Cmd: reqs[i].Cmd, Args: reqs[i].Args()})
		}
		stored[i], names[i] = r, of
	}
	return d.Dedicated.Exchange(ctx, stored, func(i int, res any) { each(i, d.strip(&stored[i], names[i], res)) })
}

// strip removes the prefix from the names in a reply. The reply to EXEC contains the replies to the
// requests of a transaction.
func (d *prefixedDedicated) strip(r *send.Request, names prefix.Names, res any) any {
	switch {
	case r.Is("MULTI"):
		d.multi = d.multi || errs.AsErrorx(res) == nil
	case r.Is("EXEC"):
		res = d.prefix.StripEach(d.queued, res)
		d.multi, d.queued = false, nil
	case r.Is("DISCARD"):
		d.multi, d.queued = false, nil
	case d.multi && errs.AsErrorx(res) == nil:
		d.queued = append(d.queued, names)
		return res
	}
	return d.prefix.Strip(names, res)
}
