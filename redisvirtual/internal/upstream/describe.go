package upstream

import (
	"bytes"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
)

// Describe fills in r for the request that is encoded in buf, and returns the entry of its command in the
// command table, or nil if the command is unknown.
func (s *Servers) Describe(r *send.Request, buf []byte) *command.Info {
	name := proto.Name(buf)
	info := lookup(name)
	cmd, args := "?", []any(nil)
	switch {
	case info == nil:
		if len(name) > 0 && len(name) <= 32 && bytes.IndexFunc(name, strange) < 0 {
			cmd = string(name)
		}
		args = proto.Words(buf)
	case info.Class == command.Twice && !s.Several && (&send.Request{Buf: buf}).Words() < command.TwiceWords:
		cmd = info.Name
	case s.Several || info.Is(command.Container) || info.Class != command.Ordinary:
		cmd, args = info.Name, proto.Words(buf)
	default:
		cmd = info.Name
	}
	r.Encoded(cmd, args, buf, s.Sender.WantsSlot())
	r.Typed = true
	if info == nil && closes(name) {
		r.Shared = command.ChangesSession
	}
	return info
}

// closes reports whether servers close the connection when a request begins with this word, because it looks
// like an HTTP request.
func closes(name []byte) bool {
	return bytes.EqualFold(name, []byte("POST")) || bytes.EqualFold(name, []byte("HOST:"))
}

// lookup finds a command by the first word of a request.
func lookup(name []byte) *command.Info {
	if len(name) > 32 { // no name is that long, and the conversion would allocate
		return nil
	}
	info := command.Lookup(string(name))
	if info.Is(command.Subcommand) {
		return nil
	}
	return info
}

func strange(r rune) bool { return r <= ' ' || r > '~' }
