package redispubsub_test

import (
	"io"
	"log"
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

// rudeLogger does not return.
type rudeLogger struct {
	events atomic.Int64
	end    func()
}

// Report implements redispubsub.Logger.
func (l *rudeLogger) Report(*redispubsub.Subscriber, redispubsub.LogEvent) {
	l.events.Add(1)
	l.end()
}

// A subscriber goes on as it would with any logger.
func TestSubscriberOutlivesItsLogger(t *testing.T) {
	log.SetOutput(io.Discard) // of the default logger, which is told instead
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
