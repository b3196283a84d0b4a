package redisconn

import (
	"runtime/debug"
	"time"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/wire"
)

// stat is what Logger.ReqStat needs to know of a request.
type stat struct {
	req   Request
	start time.Time
}

// newStat returns nil if the logger wants no statistics, and for AUTH, however it is
// spelled, so that no logger gets a password. HELLO is never sent for a user.
func (c *Connection) newStat(r *wire.Request) *stat {
	if !c.wantsStat {
		return nil
	}
	if call := command.Of(r.Cmd, nil); call.Info != nil && call.Name == "AUTH" {
		return nil
	}
	return &stat{req: Request{Cmd: r.Cmd, Args: r.Args()}, start: time.Now()}
}

// reportStat tells the logger of an answered request. in and out are the sizes of
// reply and request in bytes.
func (c *Connection) reportStat(st *stat, res any, in, out int) {
	defer func() {
		if v := recover(); v != nil {
			c.report(LogFuturePanic{Value: v, Stack: debug.Stack()})
		}
	}()
	c.opts.Logger.ReqStat(c, st.req, res, time.Since(st.start).Nanoseconds(), int64(in), int64(out))
}
