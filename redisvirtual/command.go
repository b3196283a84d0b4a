package redisvirtual

import (
	"strings"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
)

// command handles a request. It returns false if only serve can handle it.
func (c *conn) command(buf []byte) (done bool) {
	if c.batch == nil {
		c.batch = c.stream.NewFlight()
	}
	r := c.batch.Add()
	info := c.to.Describe(r, buf)
	if c.tx == nil && !c.watching && !c.asking && !c.nobody && c.protocol == c.to.Protocol && !c.wantsMaster() &&
		r.Shared == command.Allowed && !info.Named("CLIENT") && c.to.OnShards(r) == "" && c.unknownKeys(r) == nil {
		return true
	}
	one := *r
	c.batch.Cut()
	c.broken(c.send())
	if done = c.unusual(info, &one); done && c.tx == nil && !info.Named("ASKING") {
		c.asking = false
	}
	return done
}

// unusual handles a request that may not be part of a batch on the shared connection. It returns false if
// only serve can handle it.
func (c *conn) unusual(info *command.Info, r *send.Request) (done bool) {
	name := ""
	if info != nil {
		name = info.Name
	}
	if name == "QUIT" || name == "RESET" {
		c.tell()
	}
	switch words := r.Words(); {
	case name == "EXEC" && words > 1:
		return c.discard(proto.AppendError(nil, "EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command"))
	case misworded(name, words):
		c.tell()
		if c.tx != nil {
			c.tx.refused = true
		}
		c.answer(proto.AppendError(nil, "ERR wrong number of arguments for '"+strings.ToLower(name)+"' command"))
		return true
	}
	switch name {
	case "QUIT":
		c.answer([]byte(proto.OK))
		c.quit = true
		c.stream.End()
		return true
	case "RESET":
		return c.reset()
	}
	switch {
	case c.nobody && name != "AUTH" && name != "HELLO":
		c.answer(proto.AppendError(nil, noAuth))
		return true
	case c.tx != nil:
		return c.inTransaction(name, r)
	}
	if done, ours := c.aboutConnection(name, r); ours {
		return done
	}
	return c.elsewhere(name, r)
}

// elsewhere handles a request that may need another connection than the shared one, or that can't be sent.
func (c *conn) elsewhere(name string, r *send.Request) (done bool) {
	switch {
	case r.Shared == command.ChangesProtocol && !c.watching:
		return c.pass(r)
	case c.protocol != c.to.Protocol:
		return c.translated(r)
	case c.wantsMaster() && len(keysOf([]send.Request{*r})) > 0:
		return c.pass(r)
	}
	if err := c.unknownKeys(r); err != nil {
		c.answer(proto.AppendError(nil, "ERR "+err.Message()))
		return true
	}
	switch {
	case c.to.OnShards(r) != "":
		return c.onShards(r)
	case name == "WATCH" || c.watching:
		return c.inSession(name, r)
	case name == "UNWATCH":
		c.answer([]byte(proto.OK))
		return true
	case r.Shared == command.ChangesSession:
		return c.pass(r)
	case r.Shared == command.WouldBlock && countsWrites(name, r):
		c.answer(proto.AppendError(nil, "ERR "+name+" counts the writes of its own connection, but a virtual connection's writes go over another one: use a socket"))
		return true
	case r.Shared == command.WouldBlock:
		return c.block(r)
	}
	r.Shared = command.Allowed // send it, so that the server answers with its error
	return c.alone(r, c.asking)
}

// misworded reports whether a request that this package answers itself has a number of words that every
// server refuses.
func misworded(name string, words int) bool {
	switch name {
	case "MULTI", "DISCARD", "UNWATCH", "RESET", "READONLY", "READWRITE", "ASKING":
		return words > 1
	}
	return name == "WATCH" && words == 1
}

// countsWrites reports whether a request waits until a number of servers have the writes of its own
// connection (WAIT, WAITAOF). Sent over another connection, it would not wait for the client's writes.
func countsWrites(name string, r *send.Request) bool {
	args := proto.Words(r.Buf)
	switch {
	case name == "WAIT" && len(args) == 2:
		return proto.Text(args[0]) != "0"
	case name == "WAITAOF" && len(args) == 3:
		return proto.Text(args[0]) != "0" || proto.Text(args[1]) != "0"
	}
	return false // it waits for no server, or is malformed
}

// aboutConnection handles requests about the client's own connection. For other requests it returns ours =
// false.
func (c *conn) aboutConnection(name string, r *send.Request) (done, ours bool) {
	switch name {
	case "HELLO":
		return c.hello(r), true
	case "AUTH":
		return c.auth(r), true
	case "SELECT":
		return c.selectDB(r), true
	case "CLIENT":
		return c.client(r)
	case "READONLY", "READWRITE":
		c.readOnly = name == "READONLY"
		c.answer([]byte(proto.OK))
		return true, true
	case "ASKING":
		c.asking = true
		c.answer([]byte(proto.OK))
		return true, true
	case "MULTI":
		if c.protocol != c.to.Protocol {
			return c.translated(r), true
		}
		if c.wantsMaster() {
			return c.pass(r), true
		}
		c.tx = &transaction{}
		return true, true
	case "EXEC", "DISCARD":
		c.answer(proto.AppendError(nil, "ERR "+name+" without MULTI"))
		return true, true
	}
	return false, false
}

// alone sends a single request.
func (c *conn) alone(r *send.Request, asking bool) (done bool) {
	f := c.stream.NewFlight()
	*f.Add() = *r
	c.broken(c.launch(f, asking))
	return true
}

// block sends a blocking request, which goes over a dedicated connection. Only serve calls it when no other
// request of the client is in flight, so the client's requests keep their order.
func (c *conn) block(r *send.Request) (done bool) {
	if !c.served {
		return false
	}
	f := c.stream.NewFlight()
	*f.Add() = *r
	f.Blocks, f.Reqs[0].Inline = true, true
	c.broken(c.launch(f, c.asking))
	return true
}
