package rediscluster

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
)

func TestSlogLogger(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), calm)
	var conn *redisconn.Connection
	for _, n := range c.topology.Load().nodes {
		conn = n.links[0].conn
	}
	require.NotNil(t, conn)
	var out bytes.Buffer
	logger := NewSlogLogger(slog.New(slog.NewTextHandler(&out, nil)))
	require.False(t, wantsReqStat(logger))
	for _, event := range []LogEvent{
		LogOptCorrected{Option: "ConnsPerHost"},
		LogHostEvent{Conn: conn, Event: redisconn.LogConnected{}},
		LogClusterSlotsError{Conn: conn, Error: errors.New("no")},
		LogSlotRangeError{},
		LogInitialNodeSkipped{Address: "there", Error: errors.New("no")},
		LogTopologyChanged{Masters: []string{"here"}},
		LogFuturePanic{Value: "canary"},
		LogContextClosed{},
	} {
		logger.Report(c, event)
	}
	for _, want := range []string{
		`level=WARN msg="redis option corrected" redis.cluster=` + c.Name(),
		`level=INFO msg="redis connected" redis.address=` + conn.Addr(),
		`level=WARN msg="redis node does not tell the slots"`,
		`level=ERROR msg="redis cluster: no node tells the slots"`,
		`level=WARN msg="redis cluster: address skipped" redis.cluster=` + c.Name() + ` redis.address=there`,
		`level=INFO msg="redis topology changed"`,
		`level=ERROR msg="redis future panicked"`,
		`level=INFO msg="redis cluster closed"`,
	} {
		assert.Contains(t, out.String(), want)
	}
	assert.NotContains(t, out.String(), "canary")
	NewSlogLogger(nil).Report(c, LogSlotRangeError{})
}
