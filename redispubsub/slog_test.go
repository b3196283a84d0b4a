package redispubsub_test

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

func TestSlogLogger(t *testing.T) {
	s := newSubscriber(t, connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{}))
	var out bytes.Buffer
	logger := redispubsub.NewSlogLogger(slog.New(slog.NewTextHandler(&out, nil)))
	for _, event := range []redispubsub.LogEvent{
		redispubsub.LogConnected{Addr: "there"},
		redispubsub.LogMaintenance{Addr: "there", Kind: "MOVING", In: time.Second, Endpoint: "elsewhere"},
		redispubsub.LogConnectFailed{Addr: "there", Error: errors.New("no")},
		redispubsub.LogDisconnected{Addr: "there", Error: errors.New("gone")},
		redispubsub.LogPanic{Value: "canary"},
	} {
		logger.Report(s, event)
	}
	for _, want := range []string{
		`level=INFO msg="redis subscriber connected" redis.address=there`,
		`level=INFO msg="redis maintenance" redis.address=there redis.kind=MOVING`,
		`level=WARN msg="redis subscriber failed to connect" redis.address=there redis.error=no`,
		`level=WARN msg="redis subscriber disconnected" redis.address=there redis.error=gone`,
		`level=ERROR msg="redis logger panicked" redis.type=string`,
	} {
		assert.Contains(t, out.String(), want)
	}
	assert.NotContains(t, out.String(), "canary")
	redispubsub.NewSlogLogger(nil).Report(s, redispubsub.LogConnected{})
}
