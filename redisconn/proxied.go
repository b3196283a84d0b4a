package redisconn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/usercall"
	"github.com/joomcode/redispipe/redis"
)

// proxied returns the error of a proxy's own, if err is one: the proxy may have sent the request on, and
// not have waited for the answer. Whatever the other side is, that is certain of the texts below. If it
// is known to be a proxy, all errors without a code in capitals are its own. If it has closed the
// connection, the error says that this may be because of a command.
func proxied(err *errorx.Error, proxy bool) *errorx.Error {
	switch {
	case proxy && err.Type() == redis.ErrIO && errors.Is(err.Cause(), io.EOF):
		return errs.Like(err, err.Cause(), err.Message()+": a proxy closed the connection, as some do at a command that they do not know")
	case err.Type() != redis.ErrResult: // the others have codes of a server's
		return err
	}
	text := err.Message()
	rest, hasCode := strings.CutPrefix(text, "ERR ")
	switch {
	case slices.Contains(envoySays, text), strings.HasPrefix(text, "finished with "):
	case hasCode && slices.ContainsFunc(networkSays, func(says string) bool { return strings.EqualFold(rest, says) }):
	case proxy && !hasCode && !beginsWithCode(text):
	default:
		return err
	}
	return redis.ErrProxy.New("a proxy answered in place of the server, and the request may have run: %s", text)
}

// envoySays is what Envoy answers by itself, behind "finished with", by which it tells how many parts of a
// request have failed that it has split.
var envoySays = []string{"upstream failure", "upstream protocol error", "no upstream host"}

// networkSays is what twemproxy answers by itself behind ERR: the reason why it has lost a server, in
// words of the system.
var networkSays = []string{
	"Connection timed out", "Operation timed out", "Connection refused", "Connection reset by peer", "Broken pipe",
	"Host is down", "No route to host", "Network is unreachable", "Network is down", "Software caused connection abort",
}

// beginsWithCode reports whether an error begins with a word in capitals, as those of servers do.
func beginsWithCode(text string) bool {
	code, _, _ := strings.Cut(text, " ")
	return len(code) > 1 && strings.ToUpper(code) == code && strings.ContainsFunc(code, func(r rune) bool { return r >= 'A' && r <= 'Z' })
}

// apart runs a transaction on a dedicated connection, behind a proxy: it may take what is pipelined
// behind EXEC for a part of the transaction, and send that to the server of that. cb is resolved as by
// the shared connection, in a goroutine that ends with the transaction.
func (c *Connection) apart(batch []*send.Request, cb Future, asking bool) *errorx.Error {
	ctx := send.ContextOf(cb)
	reqs := make([]send.Request, 0, len(batch)+2)
	reqs = append(reqs, alone("MULTI"))
	for _, r := range batch {
		own := *r
		own.Buf, own.Ticket = bytes.Clone(r.Buf), send.Ticket{}
		reqs = append(reqs, own)
		r.Ticket = send.Ticket{Heeded: true}
	}
	reqs = append(reqs, alone("EXEC"))
	send.Queued(cb, send.Ticket{Heeded: true})
	go func() {
		answered := 0
		err := c.exchangeApart(ctx, reqs, cb, asking, func(i int, res any) {
			answered = i + 1
			c.pipe.Resolve(cb, res, uint64(i))
		})
		for i := max(answered, 1); i < len(reqs); i++ { // whoever waits for MULTI waits for EXEC
			c.pipe.Resolve(cb, redis.AsErrorx(err), uint64(i))
		}
	}()
	return nil
}

// exchangeApart sends the requests of a transaction on a dedicated connection. After an error the rest of
// them is not answered. Unless EXEC has ended the transaction, the connection may still be in it, and is
// made as new before anybody else gets it.
//
// The wait for a connection may take long. If nobody waits for the transaction then, it is not sent.
func (c *Connection) exchangeApart(ctx context.Context, reqs []send.Request, cb Future, asking bool, each func(int, any)) error {
	s, err := c.openSession(ctx, asking)
	if err != nil {
		return err
	}
	var cancelled error
	usercall.Call(func() { cancelled = send.WhyCancelled(cb) }, shared{c}.Panicked)
	if cancelled != nil {
		s.ReleaseUnchanged()
		return c.withConn(redis.ErrRequestWithdrawn.Wrap(cancelled, "cancelled before it was sent"))
	}
	ended := false
	defer func() {
		if ended {
			s.ReleaseUnchanged()
		} else {
			s.Release()
		}
	}()
	return s.Exchange(ctx, reqs, func(i int, res any) {
		failure := redis.AsErrorx(res)
		ended = i == len(reqs)-1 && (failure == nil || failure.IsOfType(redis.ErrExecAbort))
		each(i, res)
	})
}

// alone returns a request without arguments.
func alone(cmd string) send.Request {
	r, _, _ := backend.Encode(nil, redis.Req(cmd), false)
	return r
}
