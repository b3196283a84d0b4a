package redisconn

import (
	"time"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/queue"
	"github.com/joomcode/redispipe/internal/wire"
)

// newStat returns nil for AUTH, in any spelling, so that no logger gets a password.
// HELLO, which may have one, is refused to users.
func newStat(r *wire.Request) *queue.Stat {
	if call := command.Of(r.Cmd, nil); call.Info != nil && call.Name == "AUTH" {
		return nil
	}
	return &queue.Stat{Req: Request{Cmd: r.Cmd, Args: r.Args()}, Start: time.Now()}
}

// reportStat tells the logger of an answered request.
func (c *Connection) reportStat(st *queue.Stat, res any, in, out int) {
	c.opts.Logger.ReqStat(c, st.Req, res, time.Since(st.Start).Nanoseconds(), int64(in), int64(out))
}
