package redisconn

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

// OpenTracking implements inner.Conn.
func (w *within) OpenTracking(ctx context.Context, told func(*redis.Push), ended func()) (redis.Sender, error) {
	c := (*Connection)(w)
	opts := c.opts
	opts.Protocol, opts.ReconnectPause, opts.ReconnectPauseMax = 3, -1, 0
	opts.AsyncDial, opts.ScriptMode, opts.DedicatedConns = false, false, -1
	opts.Logger = NoopLogger{}
	tracking := &tracking{func(p *resp.Push) { told((*redis.Push)(p)) }, ended}
	made, err := connect(ctx, c.addr, opts, tracking)
	if err != nil {
		if ctx.Err() == nil {
			c.report(LogTrackingFailed{err})
		}
		return nil, err
	}
	if user := made.sockets.Load(); user == nil || !c.trackers.add(made, user.user) {
		made.Close() // there are new credentials since, or the connection is lost already
	}
	stop := context.AfterFunc(c.ctx, made.Close)
	context.AfterFunc(made.ctx, func() {
		stop()
		c.trackers.remove(made)
	})
	return made, nil
}

// Scripted implements inner.Conn.
func (w *within) Scripted() bool { return w.opts.ScriptMode }

// Speaks implements inner.Conn.
func (w *within) Speaks() int { return max(w.opts.Protocol, 2) }

// Silence implements inner.Conn.
func (w *within) Silence() time.Duration { return (*Connection)(w).silence() }
