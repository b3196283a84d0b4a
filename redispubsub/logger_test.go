package redispubsub_test

import (
	"bytes"
	"errors"
	"io"
	"log"
	"log/slog"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

// rudeLogger is a logger that panics or ends its goroutine instead of returning.
type rudeLogger struct {
	events atomic.Int64
	end    func()
}

// Report implements redispubsub.Logger.
func (l *rudeLogger) Report(*redispubsub.Subscriber, redispubsub.LogEvent) {
	l.events.Add(1)
	l.end()
}

// A subscriber works normally even if its logger does not return.
func TestSubscriberOutlivesItsLogger(t *testing.T) {
	log.SetOutput(io.Discard) // the DefaultLogger reports the panics of the user's logger
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	server := testbed.NewServer(t)
	conn := connect(t, server.Addr(), redisconn.Opts{})
	for way, end := range map[string]func(){"panic": func() { panic("on purpose") }, "exit": runtime.Goexit} {
		t.Run(way, func(t *testing.T) {
			logger := &rudeLogger{end: end}
			s, err := redispubsub.New(conn, redispubsub.Opts{Logger: logger})
			require.NoError(t, err)
			defer s.Close()
			sub := s.NewSubscription(redispubsub.SubscriptionOpts{})
			require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("a")))
			publish(t, conn, "PUBLISH", "a", "1")
			assert.Equal(t, "1", payload(t, take(t, sub, 1)[0]))
			server.Do("CLIENT KILL", "TYPE", "pubsub")
			for gap := (redispubsub.Gap{}); gap.Open(); {
				gap = take(t, sub, 1)[0].(redispubsub.Gap)
			}
			publish(t, conn, "PUBLISH", "a", "2")
			assert.Equal(t, "2", payload(t, take(t, sub, 1)[0]))
			assert.GreaterOrEqual(t, logger.events.Load(), int64(3))
		})
	}
}

func TestSlogLogger(t *testing.T) {
	s := newSubscriber(t, connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{}))
	var out bytes.Buffer
	logger := redispubsub.NewSlogLogger(slog.New(slog.NewTextHandler(&out, nil)))
	for _, event := range []redispubsub.LogEvent{
		redispubsub.LogConnected{Addr: "there"},
		redispubsub.LogMaintenance{Addr: "there", Kind: "MOVING", In: time.Second, Endpoint: "elsewhere"},
		redispubsub.LogConnectFailed{Addr: "there", Error: errors.New("no")},
		redispubsub.LogDisconnected{Addr: "there", Error: errors.New("gone")},
		redispubsub.LogDisconnected{Addr: "there", Error: redis.ErrContextClosed.New("closed")},
		redispubsub.LogPanic{Value: "canary"},
	} {
		logger.Report(s, event)
	}
	for _, want := range []string{
		`level=INFO msg="redis subscriber connected" redis.address=there`,
		`level=INFO msg="redis maintenance" redis.address=there redis.kind=MOVING`,
		`level=WARN msg="redis subscriber failed to connect" redis.address=there redis.error=no`,
		`level=WARN msg="redis subscriber disconnected" redis.address=there redis.error=gone`,
		`level=INFO msg="redis subscriber disconnected" redis.address=there`,
		`level=ERROR msg="redis logger panicked" redis.type=string`,
	} {
		assert.Contains(t, out.String(), want)
	}
	assert.NotContains(t, out.String(), "canary")
	redispubsub.NewSlogLogger(nil).Report(s, redispubsub.LogConnected{})
}
