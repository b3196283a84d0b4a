package redisvirtual

import (
	"bytes"
	"strings"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/frames"
	"github.com/joomcode/redispipe/internal/incoming"
	"github.com/joomcode/redispipe/internal/wire"
)

// state is what a client has said of its connection.
type state struct {
	protocol int
	name     string
	readOnly bool
	asking   bool         // before the next request
	tx       *transaction // between MULTI and EXEC
	quit     bool
	// sendFailed is why a Write fails, if it does.
	sendFailed error
}

// command deals with a request. It returns false if only serve can.
func (c *conn) command(buf []byte) (done bool) {
	if c.batch == nil {
		c.batch = newFlight(c)
	}
	r := c.batch.add()
	info := c.describe(r, buf)
	if c.tx == nil && !c.watching && !c.asking && c.protocol == c.to.protocol &&
		r.Shared == command.Allowed && !info.Named("CLIENT") {
		return true
	}
	one := *r
	c.batch.cut()
	c.broken(c.send())
	return c.unusual(info, &one)
}

// describe makes r the request that buf is.
func (c *conn) describe(r *wire.Request, buf []byte) *command.Info {
	name := incoming.Name(buf)
	info := lookup(name)
	cmd, args := "?", []any(nil)
	switch {
	case info == nil:
		if len(name) > 0 && len(name) <= 32 && bytes.IndexFunc(name, strange) < 0 {
			cmd = string(name)
		}
		args = incoming.Words(buf)
	case c.to.several() || info.Is(command.Container) || info.Class != command.Ordinary:
		cmd, args = info.Name, incoming.Words(buf)
	default:
		cmd = info.Name
	}
	r.Encoded(cmd, args, buf, c.to.sender.WantsSlot())
	r.Typed = true
	return info
}

// lookup finds a command by the first word of a request.
func lookup(name []byte) *command.Info {
	if len(name) > 32 { // none has so long a name, and the conversion would allocate
		return nil
	}
	info := command.Lookup(string(name))
	if info.Is(command.Subcommand) {
		return nil
	}
	return info
}

func strange(r rune) bool { return r <= ' ' || r > '~' }

// unusual deals with a request that does not just go to the server.
func (c *conn) unusual(info *command.Info, r *wire.Request) (done bool) {
	name := ""
	if info != nil {
		name = info.Name
	}
	if name == "QUIT" || name == "RESET" {
		c.tell()
	}
	switch name {
	case "QUIT":
		c.answer([]byte(frames.OK))
		c.quit = true
		c.end()
		return true
	case "RESET":
		return c.reset()
	}
	if c.tx != nil {
		return c.within(name, r)
	}
	if done, ours := c.said(name, r); ours {
		return done
	}
	switch {
	case c.protocol != c.to.protocol || r.Shared == command.ChangesProtocol && !c.watching:
		return c.pass(r)
	case name == "WATCH" || c.watching:
		return c.inSession(name, r)
	case name == "UNWATCH":
		c.answer([]byte(frames.OK))
		return true
	case r.Shared == command.ChangesSession:
		return c.pass(r)
	case r.Shared == command.WouldBlock:
		return c.block(r)
	}
	r.Shared, r.Single = command.Allowed, command.Allowed // what is malformed the server says
	asking := c.asking
	c.asking = false
	return c.alone(r, asking)
}

// said deals with what a client says of its connection. Other requests are not ours.
func (c *conn) said(name string, r *wire.Request) (done, ours bool) {
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
		c.answer([]byte(frames.OK))
		return true, true
	case "ASKING":
		c.asking = true
		c.answer([]byte(frames.OK))
		return true, true
	case "MULTI":
		if c.protocol != c.to.protocol {
			return c.pass(r), true
		}
		c.tx = &transaction{}
		return true, true
	case "EXEC", "DISCARD":
		c.answer(frames.AppendError(nil, "ERR "+name+" without MULTI"))
		return true, true
	}
	return false, false
}

// alone sends a request by itself.
func (c *conn) alone(r *wire.Request, asking bool) (done bool) {
	f := newFlight(c)
	*f.add() = *r
	c.broken(c.launch(f, asking))
	return true
}

// block sends a request that keeps its connection waiting. Nothing else is under way then, so
// that it runs in its place among what the client has said.
func (c *conn) block(r *wire.Request) (done bool) {
	if !c.served {
		return false
	}
	f := newFlight(c)
	*f.add() = *r
	f.blocks, f.reqs[0].Held = true, true
	asking := c.asking
	c.asking = false
	c.broken(c.launch(f, asking))
	return true
}

// upper returns a word in upper case.
func upper(word any) string { return strings.ToUpper(text(word)) }

// text returns a word of wordsOf.
func text(word any) string { return string(word.([]byte)) }
