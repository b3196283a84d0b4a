package redisvirtual

import (
	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisvirtual/internal/replies"
)

// inSession handles WATCH and the requests after it: until EXEC, DISCARD or UNWATCH, the client uses a
// dedicated connection.
func (c *conn) inSession(name string, r *send.Request) (done bool) {
	if !c.served {
		return false
	}
	switch {
	case name != "WATCH" && name != "UNWATCH" && (r.Shared == command.ChangesSession || r.Shared == command.ChangesProtocol):
		return c.pass(r)
	case name == "WATCH" && !c.watching:
		f := c.stream.NewFlight()
		*f.Add() = *r
		if c.openSession(keysOf(f.Reqs), f) {
			c.exchange(f)
		}
		return true
	}
	f := c.stream.NewFlight()
	*f.Add() = *r
	c.exchange(f)
	if name == "UNWATCH" {
		c.leaveSession()
	}
	return true
}

// keysOf returns the keys of requests.
func keysOf(reqs []send.Request) (keys []string) {
	for i := range reqs {
		keys = append(keys, redis.Request{Cmd: reqs[i].Cmd, Args: reqs[i].Args()}.Keys()...)
	}
	return keys
}

// openSession takes a dedicated connection for keys. If there is none, it returns false, and the requests of
// f fail.
func (c *conn) openSession(keys []string, f *replies.Flight) bool {
	session, err := c.lend(keys)
	if err != nil {
		if f.Push() {
			f.End(0, err)
		}
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session, c.watching = session, true
	return true
}

// lend returns a dedicated connection for keys. If the client has sent ASKING, the connection has sent it
// as well.
func (c *conn) lend(keys []string) (send.Dedicated, error) {
	if c.to.Several {
		for i := range keys {
			keys[i] = string(c.to.Prefix) + keys[i]
		}
		return c.to.Sender.OpenDedicated(c.stream.Context(), keys, nil)
	}
	return c.to.Shared.OpenDedicatedAsk(c.stream.Context(), c.asking)
}

// exchange sends the requests of f in the session, and waits for the replies.
func (c *conn) exchange(f *replies.Flight) {
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	if !f.Push() {
		return
	}
	f.AnsweredBy(session.Server())
	left := 0
	err := session.Exchange(c.stream.Context(), f.Reqs, func(i int, res any) {
		f.Resolve(res, uint64(i))
		left = i + 1
	})
	f.End(left, err)
}

// leaveSession returns the dedicated connection to the pool, if there is one.
func (c *conn) leaveSession() {
	c.mu.Lock()
	session := c.session
	c.session, c.watching = nil, false
	c.mu.Unlock()
	if session != nil {
		session.Release()
	}
}
