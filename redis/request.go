package redis

import (
	"strings"

	"github.com/joomcode/redispipe/internal/command"
)

// Request is a command with its arguments.
type Request struct {
	// Cmd is the command's name, in any case. It may hold one space
	// ("CLUSTER SLOTS"): the second word is sent as the first argument.
	Cmd string
	// Args are nil (sent as an empty string), []byte, string, any integer
	// type, float32, float64 or bool (sent as 1 or 0).
	Args []any
}

// Req makes a Request.
func Req(cmd string, args ...any) Request {
	return Request{Cmd: cmd, Args: args}
}

// CommandName returns Cmd in upper case, without a second word that is an argument.
func (r Request) CommandName() string {
	if call := command.Of(r.Cmd, nil); call.Info != nil && !call.Is(command.Container) {
		return call.Name
	}
	return strings.ToUpper(r.Cmd)
}
