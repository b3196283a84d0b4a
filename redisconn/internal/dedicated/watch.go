package dedicated

import (
	"context"
	"slices"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// watchProbe is the prefix of the key that a probe changes. The key expires after a second.
const watchProbe = "redispipe:watch:"

// proveWatch finds out whether WATCH has an effect, before WATCH is sent behind a proxy for the
// first time. A proxy may answer OK without watching. Then EXEC would run although a key has
// changed.
func (s *Session) proveWatch(ctx context.Context, reqs []send.Request) error {
	if s.lost != nil || !s.c.Peer.Proxy() || s.multi || s.p.watches.Load() ||
		!slices.ContainsFunc(reqs, func(r send.Request) bool { return r.Is("WATCH") }) {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { _ = s.c.Close() })
	err := s.p.probeWatch(ctx, s.c)
	switch failure := redis.AsErrorx(err); {
	case !stop():
		return s.lose(errs.Withdrawn(ctx))
	case failure == nil:
		return nil
	case failure.IsOfType(redis.ErrSession):
		return s.p.owner.WithConn(failure)
	case failure.IsOfType(redis.ErrIO) && s.c.Peer.Lean:
		_ = s.lose(failure)
		return s.p.owner.WithConn(redis.ErrSession.Wrap(failure, "a proxy closes the connection at WATCH: use a script instead"))
	default:
		return s.lose(sock.ErrNotConnected.Wrap(failure, "connection lost"))
	}
}

// probeWatch watches a key and changes it through the shared connection. It returns an error if
// EXEC runs nevertheless.
func (p *Pool) probeWatch(ctx context.Context, c *Conn) error {
	nonce := sock.NewNonce()
	key := watchProbe + string(nonce[:])
	res, err := c.ask(redis.Req("WATCH", key))
	if err != nil || redis.AsErrorx(res) != nil {
		return err // the caller's WATCH would be refused, too
	}
	shared := p.owner.Shared()
	if shared == nil {
		return sock.ErrNotConnected.New("not connected")
	}
	changed := make(chan any, 1)
	shared.Send(redis.Req("SET", key, "", "PX", 1000), func(res any, _ uint64) { changed <- res })
	select {
	case res = <-changed:
	case <-ctx.Done():
		return ctx.Err()
	}
	if failure := redis.AsErrorx(res); failure != nil {
		return redis.ErrSession.Wrap(failure, "it is not known whether WATCH has an effect through a proxy: a probe could not write a key")
	}
	res, err = c.ask(redis.Req("MULTI"), redis.Req("GET", key), redis.Req("EXEC"))
	switch {
	case err != nil:
		return err
	case res != nil:
		return redis.ErrSession.New("WATCH has no effect through a proxy: use a script instead")
	}
	p.watches.Store(true)
	return nil
}

// ask sends requests and returns the answer to the last one.
func (c *Conn) ask(reqs ...redis.Request) (res any, err error) {
	c.prepare(0)
	var out []byte
	for _, req := range reqs {
		if out, err = redis.AppendRequest(out, req); err != nil {
			return nil, err
		}
	}
	if _, failure := c.send(out); failure != nil {
		return nil, failure
	}
	for range reqs {
		c.NextReply()
		if res, err = c.Dec.Decode(); err != nil {
			return nil, err
		}
	}
	return res, nil
}
