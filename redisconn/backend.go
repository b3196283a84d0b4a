package redisconn

import (
	"context"
	"slices"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn/internal/dedicated"
)

var (
	_ backend.Conn     = shared{}
	_ send.Restorer    = shared{}
	_ backend.Reporter = shared{}
)

func init() {
	send.Opens(func(sender any) (inside any, known bool) {
		c, known := sender.(*Connection)
		if !c.opened() {
			return nil, known
		}
		return shared{c}, true
	})
	backend.ConnectNode = func(ctx context.Context, addr string, opts any, members func() map[string]bool) (any, error) {
		return connect(ctx, addr, opts.(Opts), nil, members)
	}
}

// Requests implements send.Counter.
func (s shared) Requests() uint64 { return s.pipe.Entered() }

// Restored implements send.Restorer.
func (s shared) Restored() <-chan struct{} {
	if !s.alone {
		return nil
	}
	return s.pipe.Restored()
}

// SharesCallers implements backend.Conn.
func (s shared) SharesCallers(pending func() int64) { s.pipe.Shares(pending) }

// SendEncodedBatch implements backend.Conn.
func (s shared) SendEncodedBatch(reqs []*send.Request, cb Future, start uint64, flags int) {
	if flags&DoTransaction != 0 {
		cb, start = s.newTransaction(cb, start, len(reqs), true), 1
	}
	var err *errorx.Error
	failed := slices.IndexFunc(reqs, func(r *send.Request) bool {
		err = s.checkEncoded(r, flags)
		return err != nil
	})
	if err == nil {
		err = s.enterBatch(reqs, cb, start, flags)
	}
	if err == nil {
		return
	}
	plain := make([]Request, len(reqs))
	for i, r := range reqs {
		plain[i] = Request{Cmd: r.Cmd, Args: r.Args()}
	}
	s.refuseBatch(plain, cb, start, flags, err, failed)
}

// OpenDedicated implements send.Backend. A connection has no slots, so it ignores the keys, and it
// can't follow the redirect in last.
func (s shared) OpenDedicated(ctx context.Context, _ []string, last error) (send.Dedicated, error) {
	if err := redis.AsErrorx(last); err != nil && (err.IsOfType(redis.ErrMoved) || err.IsOfType(redis.ErrAsk)) {
		return nil, err
	}
	return s.OpenDedicatedAsk(ctx, false)
}

// OpenDedicatedAsk implements backend.Conn.
func (s shared) OpenDedicatedAsk(ctx context.Context, asking bool) (send.Dedicated, error) {
	opened, err := s.openSession(ctx, asking)
	if err != nil {
		return nil, err
	}
	return opened, nil
}

func (c *Connection) openSession(ctx context.Context, asking bool) (*dedicated.Session, *errorx.Error) {
	if refused := c.withoutSessions(); refused != nil {
		return nil, c.withConn(refused)
	}
	return c.pool.Open(ctx, asking)
}

// Dialer implements backend.Conn.
func (s shared) Dialer() *dial.Dialer { return s.dialer }

// Beside implements backend.Conn.
func (s shared) Beside() *lifetime.Running { return &s.streams }

// StopWrites implements backend.Conn.
func (s shared) StopWrites() (stopped <-chan struct{}) {
	stop := s.pipe.StopWrites(s.errClosed())
	done := make(chan struct{})
	go func() { // ends with the last write
		defer close(done)
		stop()
		s.pool.EndWrites()
	}()
	return done
}

// Queue implements backend.Conn.
func (s shared) Queue() backend.Queue { return s.pipe.Queue() }

// Flight implements backend.Conn.
func (s shared) Flight() (f backend.Flight) {
	f.Since, f.Mark, f.Pending, f.MinTrip = s.pipe.Flight()
	if f.MinTrip == 0 {
		f.MinTrip = time.Duration(s.shortest.Load())
	}
	return f
}

// Unread implements backend.Conn.
func (s shared) Unread() bool { return s.pipe.Unread() }

// Terms implements backend.Conn.
func (s shared) Terms() backend.Terms {
	return backend.Terms{Scripted: s.opts.ScriptMode, Protocol: max(s.opts.Protocol, 2), Silence: s.silence()}
}

// OpenTracking implements backend.Conn.
func (s shared) OpenTracking(ctx context.Context, told func(*redis.Push), ended func()) (redis.Sender, error) {
	opts := s.opts
	opts.Protocol, opts.ReconnectPause, opts.ReconnectPauseMax = 3, -1, 0
	opts.AsyncDial, opts.ScriptMode, opts.DedicatedConns = false, false, -1
	opts.Logger = NoopLogger{}
	defer s.dialer.Begin()() // Reauthenticate waits until the new connection is in trackers
	tracking := &tracking{func(p *resp.Push) { told((*redis.Push)(p)) }, ended, s.alone, s.dialer}
	before := s.trackers.leaves()
	made, err := connect(ctx, s.addr, opts, tracking, s.dialer.Members)
	if err != nil {
		if ctx.Err() == nil {
			s.report(LogTrackingFailed{err})
		}
		return nil, err
	}
	if !s.trackers.add(made, made.sockets.Load().user, before) {
		made.Close() // the credentials, or the server of the shared connection, have changed since the handshake
	}
	stop := context.AfterFunc(s.ctx, made.Close)
	context.AfterFunc(made.ctx, func() {
		stop()
		s.trackers.remove(made)
	})
	return made, nil
}
