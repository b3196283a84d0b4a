package redisconn

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Listen is for package rediscluster. It subscribes to channels on a socket of its own,
// with RESP2. It calls subscribed once the subscription is confirmed, and then message
// for each message, in the goroutine of its caller. It returns when ctx is done, or
// with the error of a socket that failed or was silent for IOTimeout; a heartbeat keeps
// the server from being silent.
func (c *Connection) Listen(ctx context.Context, channels []any, subscribed, message func()) error {
	s, failure := c.open(ctx)
	if failure != nil {
		return c.withConn(failure)
	}
	defer s.Close()
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	s.timeout = c.opts.IOTimeout
	out, err := redis.AppendRequest(nil, redis.Req("SUBSCRIBE", channels...))
	if err != nil {
		return err
	}
	if _, err := s.Write(out); err != nil {
		return c.withConn(redis.ErrIO.Wrap(err, "subscribing"))
	}
	beating, stop := context.WithCancel(ctx)
	defer stop()
	for confirmed := 0; ; {
		res, err := s.dec.Decode()
		if err == nil {
			err = redis.AsError(res)
		}
		if err != nil {
			return c.withConn(redis.AsErrorx(err))
		}
		push, _ := res.([]any)
		if len(push) == 0 {
			return c.withConn(redis.ErrResponseUnexpected.New("a subscriber was sent %T", res))
		}
		switch kind, _ := redis.ArgToString(push[0]); kind {
		case "subscribe":
			if confirmed++; confirmed == len(channels) {
				go s.keepAlive(beating)
				subscribed()
			}
		case "message":
			message()
		}
	}
}

// keepAlive is a goroutine that asks a server for a PONG, three times in the socket's
// time-out, until ctx ends. Listen starts it.
func (s *socket) keepAlive(ctx context.Context) {
	if s.timeout <= 0 {
		return
	}
	ticker := time.NewTicker(max(s.timeout/3, time.Millisecond))
	defer ticker.Stop()
	ping, _ := redis.AppendRequest(nil, redis.Req("PING"))
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if _, err := s.Write(ping); err != nil {
				_ = s.Close()
				return
			}
		}
	}
}
