package memserver

import (
	"bufio"
	"bytes"
	"fmt"
	"reflect"

	"github.com/alicebob/miniredis/v2/server"
)

// innerName is the client name of a peer whose commands go to miniredis unchanged.
const innerName = "\x00memserver"

// reply is a peer that collects the reply.
type reply struct {
	*server.Peer
	buf *bytes.Buffer // nil if a script reads the reply
}

func newReply(ctx any, resp3 bool) reply {
	buf := new(bytes.Buffer)
	p := server.NewPeer(bufio.NewWriter(buf))
	p.ClientName, p.Ctx, p.Resp3 = innerName, ctx, resp3
	return reply{p, buf}
}

func (r reply) text() string {
	r.Flush()
	return r.buf.String()
}

// call is the command that the server is answering.
type call struct {
	s    *Server
	conn *conn // nil if a script has called the command
	reply
	cmd  string // in upper case
	args []string
	once bool // the command must not block
}

// pass leaves the answer to miniredis.
func (c *call) pass(cmd string, args ...string) {
	name := c.ClientName
	c.ClientName = innerName
	c.s.srv.Dispatch(c.Peer, append([]string{cmd}, args...))
	c.ClientName = name
}

// ask returns miniredis's reply as a value, or an error.
func (c *call) ask(cmd string, args ...string) (any, error) {
	return parse(c.s.ask(&c.Ctx, cmd, args...))
}

// also runs another command and drops its reply.
func (c *call) also(cmd string, args ...string) { c.s.ask(&c.Ctx, cmd, args...) }

func parse(reply string) (any, error) {
	return server.ParseReply(bufio.NewReader(bytes.NewReader([]byte(reply))))
}

// ask returns the reply of miniredis, in RESP2, to a connection with the state ctx.
func (s *Server) ask(ctx *any, cmd string, args ...string) string {
	out := newReply(*ctx, false)
	s.srv.Dispatch(out.Peer, append([]string{cmd}, args...))
	*ctx = out.Ctx
	return out.text()
}

// fork returns a copy of a connection's state.
func fork(ctx any) any {
	v := reflect.New(reflect.TypeOf(ctx).Elem())
	v.Elem().Set(reflect.ValueOf(ctx).Elem())
	return v.Interface()
}

func texts(values []any) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = fmt.Sprint(v)
	}
	return out
}
