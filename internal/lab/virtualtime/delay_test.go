package virtualtime

import (
	"bytes"
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// stalled runs a test with a connection to a server that runs chaos.ScriptedStalls.
func stalled(t *testing.T, opts redisconn.Opts, test func(t *testing.T, conn *redisconn.Connection)) {
	Run(t, func(t *testing.T) {
		l := newPipes("10.0.0.1:6379")
		chaos.NewScripted(t, chaos.ScriptedOpts{Listener: l, Handler: chaos.ScriptedStalls})
		opts.Dialer, opts.Logger = l.dial, redisconn.NoopLogger{}
		conn, err := redisconn.Connect(t.Context(), l.addr, opts)
		require.NoError(t, err)
		defer conn.Close()
		test(t, conn)
	})
}

// heldUp is how long requests are held up.
const heldUp = time.Second

// If the connection gives up, the error of each request shows the stage that held the request up.
func TestDelayBlamesTheRightStage(t *testing.T) {
	for stage, stall := range map[redis.Stage]func(conn *redisconn.Connection, release chan struct{}){
		redis.StageQueue: func(conn *redisconn.Connection, _ chan struct{}) {
			conn.Send(redis.Req("STALL"), nil, 0)
			conn.Send(redis.Req("SET", "key", bytes.Repeat([]byte("x"), 16<<20)), nil, 0) // the server does not read it
			synctest.Wait()
		},
		redis.StageWire: func(conn *redisconn.Connection, _ chan struct{}) {
			conn.Send(redis.Req("STALL"), nil, 0)
		},
		redis.StageReading: func(*redisconn.Connection, chan struct{}) {},
		redis.StageCallback: func(conn *redisconn.Connection, release chan struct{}) {
			conn.Send(redis.Req("GET", "key"), redis.FuncFuture(func(any, uint64) { <-release }), 0)
			synctest.Wait()
		},
	} {
		t.Run(stage.String(), func(t *testing.T) {
			stalled(t, redisconn.Opts{IOTimeout: heldUp}, func(t *testing.T, conn *redisconn.Connection) {
				release := make(chan struct{})
				defer close(release)
				stall(conn, release)
				req := redis.Req("GET", "key")
				if stage == redis.StageReading {
					req = redis.Req("CUT")
				}
				for _, res := range (redis.Sync{S: conn}).SendMany([]redis.Request{req, req, req}) {
					err := redis.AsError(res)
					d, ok := redis.DelayOf(err)
					require.True(t, ok, "%v", res)
					require.Equal(t, redis.OutcomeOf(err), d.Outcome)
					require.Equal(t, stage, d.Longest(), "%v", d)
				}
			})
		})
	}
}

// If a reply is cut short, a caller that reads the reply itself gets the same error as others.
func TestDelayOfTypedReply(t *testing.T) {
	stalled(t, redisconn.Opts{IOTimeout: heldUp}, func(t *testing.T, conn *redisconn.Connection) {
		var v string
		err := redis.Sync{S: conn}.DoInto(&v, "CUT")
		require.ErrorContains(t, err, "no answer within")
		d, known := redis.DelayOf(err)
		require.True(t, known, "%v", err)
		require.Equal(t, redis.StageReading, d.Longest(), "%v", d)
		require.EqualValues(t, 1, conn.Stats().Unknown)
	})
}

// slowly is a slow reader and writer.
type slowly struct{}

func (slowly) Read(p []byte) (int, error)  { time.Sleep(heldUp); return len(p), nil }
func (slowly) Write(p []byte) (int, error) { time.Sleep(heldUp); return len(p), nil }

// The delay of a request on a dedicated connection shows the stages, too.
func TestDelayOnAConnectionOfItsOwn(t *testing.T) {
	session := func(cmd string) func(ctx context.Context, conn *redisconn.Connection) error {
		return func(ctx context.Context, conn *redisconn.Connection) error {
			return redis.WithSession(ctx, conn, "", func(s *redis.Session) error {
				return redis.AsError(s.SendMany([]redis.Request{redis.Req("GET", "key"), redis.Req(cmd)})[1])
			})
		}
	}
	stream := func(w io.Writer, cmd string, args ...any) func(ctx context.Context, conn *redisconn.Connection) error {
		return func(ctx context.Context, conn *redisconn.Connection) error {
			return redis.AsError(conn.DoStream(ctx, w, cmd, args...))
		}
	}
	for name, c := range map[string]struct {
		call  func(ctx context.Context, conn *redisconn.Connection) error
		stage redis.Stage
	}{
		"a session that is not answered":    {session("STALL"), redis.StageWire},
		"a session that is answered partly": {session("CUT"), redis.StageReading},
		"a session that is not opened": {func(ctx context.Context, conn *redisconn.Connection) error {
			other, err := redis.OpenSession(context.Background(), conn, "")
			if err != nil {
				return err
			}
			defer other.Close()
			return session("GET")(ctx, conn)
		}, redis.StageQueue},
		"a session that times out": {func(_ context.Context, conn *redisconn.Connection) error {
			return session("STALL")(context.Background(), conn)
		}, redis.StageWire},
		"a stream that is not answered":    {stream(nil, "STALL"), redis.StageWire},
		"a stream that is answered partly": {stream(io.Discard, "CUT"), redis.StageReading},
		"a reader that is slow":            {stream(nil, "STALL", redis.Stream{R: slowly{}, Size: 1}), redis.StageCallback},
		"a writer that is slow":            {stream(slowly{}, "CUT"), redis.StageCallback},
	} {
		t.Run(name, func(t *testing.T) {
			opts := redisconn.Opts{IOTimeout: 2 * heldUp, DedicatedConns: 1}
			stalled(t, opts, func(t *testing.T, conn *redisconn.Connection) {
				ctx, cancel := context.WithTimeout(context.Background(), heldUp)
				defer cancel()
				err := c.call(ctx, conn)
				d, known := redis.DelayOf(err)
				require.True(t, known, "%v", err)
				require.Equal(t, c.stage, d.Longest(), "%v", d)
				require.Equal(t, redis.OutcomeOf(err), d.Outcome)
			})
		})
	}
}
