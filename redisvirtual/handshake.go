package redisvirtual

import (
	"strconv"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
)

const (
	invalidName = "ERR Client names cannot contain spaces, newlines or special characters."
	noAuth      = "NOAUTH Authentication required."
)

// hello handles HELLO. Its answer is the server's answer to HELLO without arguments,
// which names the protocol of the shared socket.
func (c *conn) hello(r *send.Request) (done bool) {
	args := proto.Words(r.Buf)
	protocol, name, cr, problem := helloArgs(args)
	switch {
	case problem != "":
		c.answer(proto.AppendError(nil, problem))
		return true
	case protocol == 0:
		protocol = c.protocol
	}
	if protocol > c.to.Protocol {
		// A server that knows no other protocol answers like this. Clients then continue with RESP2.
		c.answer(proto.AppendError(nil, "ERR unknown command 'HELLO': the shared connection speaks RESP2, see redisconn.Opts.Protocol"))
		return true
	}
	if name != nil {
		if !dial.ValidName(*name) {
			c.answer(proto.AppendError(nil, invalidName))
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
		c.answer(proto.AppendError(nil, noAuth))
		return true
	}
	if protocol != c.to.Protocol {
		if !c.watching { // with a WATCH, translated refuses the request
			c.protocol = protocol
		}
		return c.translated(r)
	}
	c.protocol = protocol
	plain := send.Request{}
	c.to.Describe(&plain, []byte("*1\r\n$5\r\nHELLO\r\n"))
	plain.Shared = command.Allowed // HELLO without arguments changes nothing
	return c.alone(&plain, false)
}

// helloArgs parses the arguments of HELLO. Without arguments, protocol is 0. If the arguments are invalid,
// problem is the text of the error reply.
func helloArgs(args []any) (protocol int, name *string, cr *dial.Credentials, problem string) {
	if len(args) == 0 {
		return 0, nil, nil, ""
	}
	protocol, err := strconv.Atoi(proto.Text(args[0]))
	if err != nil {
		return 0, nil, nil, "ERR Protocol version is not an integer or out of range"
	}
	if protocol != 2 && protocol != 3 {
		return 0, nil, nil, "NOPROTO unsupported protocol version"
	}
	for i := 1; i < len(args); i++ {
		switch word := proto.Upper(args[i]); {
		case word == "AUTH" && i+2 < len(args):
			cr = &dial.Credentials{Username: proto.Text(args[i+1]), Password: proto.Text(args[i+2])}
			i += 2
		case word == "SETNAME" && i+1 < len(args):
			given := proto.Text(args[i+1])
			name = &given
			i++
		default:
			return 0, nil, nil, "ERR Syntax error in HELLO option '" + proto.Text(args[i]) + "'"
		}
	}
	return protocol, name, cr, ""
}

// auth handles AUTH.
func (c *conn) auth(r *send.Request) (done bool) {
	args := proto.Words(r.Buf)
	var cr dial.Credentials
	switch len(args) {
	case 1:
		cr.Password = proto.Text(args[0])
	case 2:
		cr.Username, cr.Password = proto.Text(args[0]), proto.Text(args[1])
	default:
		return c.passAs("AUTH", r) // to get the server's error text
	}
	matches, known := c.authenticates(cr)
	switch {
	case !known:
		return false
	case !matches:
		return c.passAs("AUTH", r)
	}
	c.nobody = false
	c.answer([]byte(proto.OK))
	return true
}

// authenticates reports whether credentials match those of the shared connection. A CredentialsProvider may
// block, so only serve may call it; elsewhere authenticates then returns known = false.
func (c *conn) authenticates(cr dial.Credentials) (matches, known bool) {
	node, err := c.to.Node()
	if err != nil {
		return false, true
	}
	dialer := node.Dialer()
	if dialer.Provider != nil && !c.served {
		return false, false
	}
	ours, failure := dialer.Ask(c.stream.Context())
	if failure != nil {
		return false, true
	}
	return plain(ours) == plain(cr) && ours.Password != "", true
}

// plain returns credentials without the name of the default user.
func plain(cr dial.Credentials) dial.Credentials {
	if cr.Username == "default" {
		cr.Username = ""
	}
	return cr
}

// selectDB handles SELECT.
func (c *conn) selectDB(r *send.Request) (done bool) {
	if args := proto.Words(r.Buf); len(args) == 1 && proto.Text(args[0]) == strconv.Itoa(c.to.DB) {
		c.answer([]byte(proto.OK))
		return true
	}
	return c.pass(r)
}

// client handles the subcommands of CLIENT that are about the client's own connection.
func (c *conn) client(r *send.Request) (done, ours bool) {
	args := proto.Words(r.Buf)
	if len(args) == 0 {
		return false, false
	}
	switch sub := proto.Upper(args[0]); {
	case sub == "SETNAME" && len(args) == 2:
		if name := proto.Text(args[1]); dial.ValidName(name) {
			c.name = name
			c.answer([]byte(proto.OK))
		} else {
			c.answer(proto.AppendError(nil, invalidName))
		}
	case sub == "GETNAME" && len(args) == 1 && c.name != "":
		c.answer(proto.AppendWord(nil, c.name))
	case sub == "GETNAME" && len(args) == 1:
		c.answer(proto.AppendNull(nil, c.protocol))
	case sub == "SETINFO" && len(args) == 3:
		c.answer([]byte(proto.OK))
	case command.Lookup("CLIENT "+sub) == nil: // an unknown subcommand may affect other users of the shared connection
		c.answer(proto.AppendError(nil, "ERR unknown subcommand '"+proto.Text(args[0])+"'. Try CLIENT HELP."))
	default:
		return false, false
	}
	return true, true
}

// reset handles RESET.
func (c *conn) reset() (done bool) {
	if c.watching && !c.served {
		return false
	}
	c.leaveSession()
	c.state = state{protocol: 2, nobody: c.nobody, sendFailed: c.sendFailed}
	c.answer([]byte(proto.Reset))
	return true
}
