package redisconn

import (
	"context"
	"slices"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn/internal/dedicated"
)

var (
	_ backend.Conn     = within{}
	_ send.Restorer    = within{}
	_ backend.Reporter = within{}
)

func init() {
	backend.ConnectNode = func(ctx context.Context, addr string, opts any, members func() map[string]bool) (any, error) {
		return connect(ctx, addr, opts.(Opts), nil, members)
	}
}

// Requests implements send.Counter.
func (w within) Requests() uint64 { return w.pipe.Entered() }

// Restored implements send.Restorer.
func (w within) Restored() <-chan struct{} {
	if !w.alone {
		return nil
	}
	return w.pipe.Restored()
}

// SharesCallers implements backend.Conn.
func (w within) SharesCallers(several bool) { w.pipe.Several(several) }

// SendEncodedBatch implements backend.Conn.
func (w within) SendEncodedBatch(reqs []*send.Request, cb Future, start uint64, flags int) {
	if flags&DoTransaction != 0 {
		cb, start = w.newTransaction(cb, start, len(reqs), true), 1
	}
	var err *errorx.Error
	failed := slices.IndexFunc(reqs, func(r *send.Request) bool {
		err = w.checkEncoded(r, flags)
		return err != nil
	})
	if err == nil {
		err = w.enterBatch(reqs, cb, start, flags)
	}
	if err == nil {
		return
	}
	plain := make([]Request, len(reqs))
	for i, r := range reqs {
		plain[i] = Request{Cmd: r.Cmd, Args: r.Args()}
	}
	w.refuseBatch(plain, cb, start, flags, err, failed)
}

// OpenDedicated implements send.Inner. A connection has no slots, so it ignores keys, and if
// last is a redirect it can't follow that.
func (w within) OpenDedicated(ctx context.Context, _ []string, last error) (send.Dedicated, error) {
	if err := redis.AsErrorx(last); err != nil && (err.IsOfType(redis.ErrMoved) || err.IsOfType(redis.ErrAsk)) {
		return nil, err
	}
	return w.OpenDedicatedAsk(ctx, false)
}

// OpenDedicatedAsk implements backend.Conn.
func (w within) OpenDedicatedAsk(ctx context.Context, asking bool) (send.Dedicated, error) {
	s, err := w.openSession(ctx, asking)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (c *Connection) openSession(ctx context.Context, asking bool) (*dedicated.Session, *errorx.Error) {
	if c.opts.DedicatedConns < 0 {
		return nil, c.withConn(redis.ErrSession.New("Opts.DedicatedConns is negative: there are no sessions"))
	}
	return c.pool.Open(ctx, asking)
}

// Panicked implements backend.Reporter.
func (w within) Panicked(v any, stack []byte) {
	w.report(LogFuturePanic{Value: v, Stack: stack})
}

// Dialer implements backend.Conn.
func (w within) Dialer() *dial.Dialer { return w.dialer }

// DrainBeside implements backend.Conn.
func (w within) DrainBeside() {
	w.pool.Shut()
	w.trackers.drain()
	w.streams.Shut()
}

// BeginBeside implements backend.Conn.
func (w within) BeginBeside() bool { return w.streams.Begin() }

// EndBeside implements backend.Conn.
func (w within) EndBeside() { w.streams.End() }

// StopWrites implements backend.Conn.
func (w within) StopWrites() (stopped <-chan struct{}) {
	stop := w.pipe.StopWrites(w.errClosed())
	done := make(chan struct{})
	go func() { // ends when the last write has ended
		defer close(done)
		stop()
		w.pool.EndWrites()
	}()
	return done
}

// Queue implements backend.Conn.
func (w within) Queue() backend.Queue { return w.pipe.Queue() }

// Flight implements backend.Conn.
func (w within) Flight() (f backend.Flight) {
	f.Since, f.Mark, f.Pending, f.Usual = w.pipe.Flight()
	if f.Usual == 0 {
		f.Usual = time.Duration(w.shortest.Load())
	}
	return f
}

// Scripted implements backend.Conn.
func (w within) Scripted() bool { return w.opts.ScriptMode }

// Speaks implements backend.Conn.
func (w within) Speaks() int { return max(w.opts.Protocol, 2) }

// Silence implements backend.Conn.
func (w within) Silence() time.Duration { return w.silence() }

// OpenTracking implements backend.Conn.
func (w within) OpenTracking(ctx context.Context, told func(*redis.Push), ended func()) (redis.Sender, error) {
	opts := w.opts
	opts.Protocol, opts.ReconnectPause, opts.ReconnectPauseMax = 3, -1, 0
	opts.AsyncDial, opts.ScriptMode, opts.DedicatedConns = false, false, -1
	opts.Logger = NoopLogger{}
	defer w.dialer.Begin()() // until it is there to be authenticated again
	tracking := &tracking{func(p *resp.Push) { told((*redis.Push)(p)) }, ended, w.alone}
	made, err := connect(ctx, w.addr, opts, tracking, w.dialer.Members)
	if err != nil {
		if ctx.Err() == nil {
			w.report(LogTrackingFailed{err})
		}
		return nil, err
	}
	if !w.trackers.add(made, made.sockets.Load().user) {
		made.Close() // there are new credentials since
	}
	stop := context.AfterFunc(w.ctx, made.Close)
	context.AfterFunc(made.ctx, func() {
		stop()
		w.trackers.remove(made)
	})
	return made, nil
}
