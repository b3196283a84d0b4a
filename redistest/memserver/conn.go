package memserver

import (
	"sync"

	"github.com/alicebob/miniredis/v2/server"
)

// conn is the state of a client's connection. Only the goroutine that holds Server.turn uses it.
type conn struct {
	peer *server.Peer
	// writing is held from before a command is answered until its reply is written, except while the command waits,
	// and while messages are written. A client that does not read holds up nobody else, because nobody
	// takes writing during a turn. Take it before Server.turn.
	writing sync.Mutex
	// ctx is miniredis's state for all commands except those that subscribe.
	ctx        any
	queue      *queue      // not nil between MULTI and EXEC
	watched    []string    // keys, until EXEC, DISCARD or UNWATCH
	subscriber *subscriber // nil before a command that subscribes
}

// closed reports whether the client has closed the connection. While messages are written to the client, it returns
// false: miniredis would let peer.Closed wait, under Server.turn, until the client reads them.
func (c *conn) closed() bool {
	if !c.writing.TryLock() {
		return false
	}
	defer c.writing.Unlock()
	return c.peer.Closed()
}

// queue holds the commands of a transaction. Miniredis gets them at EXEC, and answers them like other
// commands.
type queue struct {
	calls [][]string
	bad   bool // a command was refused
}
