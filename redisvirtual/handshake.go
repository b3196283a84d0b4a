package redisvirtual

import (
	"strconv"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redisvirtual/internal/frames"
	"github.com/joomcode/redispipe/redisvirtual/internal/incoming"
)

const (
	invalidName = "ERR Client names cannot contain spaces, newlines or special characters."
	noAuth      = "NOAUTH Authentication required."
)

// hello deals with HELLO. What it answers is the server's answer to HELLO without arguments,
// which says what the shared socket speaks.
func (c *conn) hello(r *wire.Request) (done bool) {
	args := incoming.Words(r.Buf)
	protocol, name, cr, problem := helloArgs(args)
	switch {
	case problem != "":
		c.answer(frames.AppendError(nil, problem))
		return true
	case protocol == 0:
		protocol = c.protocol
	}
	if protocol > c.to.Protocol {
		// As a server that knows of no other protocol: clients go on without it.
		c.answer(frames.AppendError(nil, "ERR unknown command 'HELLO': the shared connection speaks RESP2, see redisconn.Opts.Protocol"))
		return true
	}
	if name != nil {
		if !dial.ValidName(*name) {
			c.answer(frames.AppendError(nil, invalidName))
			return true
		}
		c.name = *name
	}
	if cr != nil {
		matches, known := c.authenticates(*cr)
		if !known {
			return false
		}
		if !matches {
			return c.passAs("HELLO", r)
		}
		c.nobody = false
	}
	if c.nobody {
		c.answer(frames.AppendError(nil, noAuth))
		return true
	}
	if protocol != c.to.Protocol {
		if !c.watching { // else it is refused
			c.protocol = protocol
		}
		return c.translated(r)
	}
	c.protocol = protocol
	plain := wire.Request{}
	c.to.Describe(&plain, []byte("*1\r\n$5\r\nHELLO\r\n"))
	plain.Shared = command.Allowed // it changes nothing
	return c.alone(&plain, false)
}

// helloArgs reads HELLO's arguments. The protocol is 0 without any.
func helloArgs(args []any) (protocol int, name *string, cr *dial.Credentials, problem string) {
	if len(args) == 0 {
		return 0, nil, nil, ""
	}
	protocol, err := strconv.Atoi(incoming.Text(args[0]))
	if err != nil {
		return 0, nil, nil, "ERR Protocol version is not an integer or out of range"
	}
	if protocol != 2 && protocol != 3 {
		return 0, nil, nil, "NOPROTO unsupported protocol version"
	}
	for i := 1; i < len(args); i++ {
		switch word := incoming.Upper(args[i]); {
		case word == "AUTH" && i+2 < len(args):
			cr = &dial.Credentials{Username: incoming.Text(args[i+1]), Password: incoming.Text(args[i+2])}
			i += 2
		case word == "SETNAME" && i+1 < len(args):
			given := incoming.Text(args[i+1])
			name = &given
			i++
		default:
			return 0, nil, nil, "ERR Syntax error in HELLO option '" + incoming.Text(args[i]) + "'"
		}
	}
	return protocol, name, cr, ""
}

// auth deals with AUTH.
func (c *conn) auth(r *wire.Request) (done bool) {
	args := incoming.Words(r.Buf)
	var cr dial.Credentials
	switch len(args) {
	case 1:
		cr.Password = incoming.Text(args[0])
	case 2:
		cr.Username, cr.Password = incoming.Text(args[0]), incoming.Text(args[1])
	default:
		return c.passAs("AUTH", r) // for the server's words
	}
	matches, known := c.authenticates(cr)
	switch {
	case !known:
		return false
	case !matches:
		return c.passAs("AUTH", r)
	}
	c.nobody = false
	c.answer([]byte(frames.OK))
	return true
}

// authenticates reports whether credentials are those of the shared connection. That is not
// known if somebody has to be asked, unless serve does so.
func (c *conn) authenticates(cr dial.Credentials) (matches, known bool) {
	dialer, err := c.to.Dialer()
	if err != nil {
		return false, true
	}
	if dialer.Provider != nil && !c.served {
		return false, false
	}
	ours, failure := dialer.Ask(c.stream.Context())
	if failure != nil {
		return false, true
	}
	return plain(ours) == plain(cr) && ours.Password != "", true
}

// plain is credentials without the name that a server has for none.
func plain(cr dial.Credentials) dial.Credentials {
	if cr.Username == "default" {
		cr.Username = ""
	}
	return cr
}

// selectDB deals with SELECT.
func (c *conn) selectDB(r *wire.Request) (done bool) {
	if args := incoming.Words(r.Buf); len(args) == 1 && incoming.Text(args[0]) == strconv.Itoa(c.to.DB) {
		c.answer([]byte(frames.OK))
		return true
	}
	return c.pass(r)
}

// client deals with those subcommands of CLIENT that are about the client's own connection.
func (c *conn) client(r *wire.Request) (done, ours bool) {
	args := incoming.Words(r.Buf)
	if len(args) == 0 {
		return false, false
	}
	switch sub := incoming.Upper(args[0]); {
	case sub == "SETNAME" && len(args) == 2:
		if name := incoming.Text(args[1]); dial.ValidName(name) {
			c.name = name
			c.answer([]byte(frames.OK))
		} else {
			c.answer(frames.AppendError(nil, invalidName))
		}
	case sub == "GETNAME" && len(args) == 1 && c.name != "":
		c.answer(frames.AppendWord(nil, c.name))
	case sub == "GETNAME" && len(args) == 1:
		c.answer(frames.AppendNull(nil, c.protocol))
	case sub == "SETINFO" && len(args) == 3:
		c.answer([]byte(frames.OK))
	case command.Lookup("CLIENT "+sub) == nil: // it may change what others get, as pushes
		c.answer(frames.AppendError(nil, "ERR unknown subcommand '"+incoming.Text(args[0])+"'. Try CLIENT HELP."))
	default:
		return false, false
	}
	return true, true
}

// reset deals with RESET.
func (c *conn) reset() (done bool) {
	if c.watching && !c.served {
		return false
	}
	c.leaveSession()
	c.state = state{protocol: 2, nobody: c.nobody, sendFailed: c.sendFailed}
	c.answer([]byte(frames.Reset))
	return true
}
