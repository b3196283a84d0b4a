package redispubsub_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// maintenanceLog is a logger that records the reported announcements of maintenance.
type maintenanceLog chan redispubsub.LogMaintenance

func (l maintenanceLog) Report(_ *redispubsub.Subscriber, event redispubsub.LogEvent) {
	if e, ok := event.(redispubsub.LogMaintenance); ok {
		l <- e
	}
}

// The subscriber reports an announcement of maintenance, and loses no message.
func TestMaintenanceEndsNoSocket(t *testing.T) {
	server := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		_, err := fmt.Fprintf(c, ">3\r\n%s%s:1\r\n", chaos.ScriptedBulk(strings.ToLower(r.Cmd)), chaos.ScriptedBulk(r.Args[0]))
		return err
	}})
	log := make(maintenanceLog, 10)
	s, err := redispubsub.New(connect(t, server.Addr(), redisconn.Opts{Protocol: 3}), redispubsub.Opts{Logger: log})
	require.NoError(t, err)
	defer s.Close()
	sub := s.NewSubscription(redispubsub.SubscriptionOpts{})
	require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("a")))
	bulk := chaos.ScriptedBulk
	server.Broadcast([]byte(">4\r\n" + bulk("MOVING") + ":1\r\n:15\r\n" + bulk("other:6379")))
	server.Broadcast([]byte(">3\r\n" + bulk("MIGRATED") + ":2\r\n*1\r\n" + bulk("1")))
	server.Broadcast([]byte(">3\r\n" + bulk("message") + bulk("a") + bulk("hi")))
	assert.Equal(t, "hi", string(take(t, sub, 1)[0].(redispubsub.Message).Payload))
	assert.Equal(t, redispubsub.LogMaintenance{Addr: server.Addr(), Kind: "MOVING", In: 15 * time.Second, Endpoint: "other:6379"}, <-log)
	assert.Equal(t, redispubsub.LogMaintenance{Addr: server.Addr(), Kind: "MIGRATED"}, <-log)
}

// If a server announces maintenance again and again, only a few of the announcements are logged.
func TestMaintenanceIsLimited(t *testing.T) {
	server := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		_, err := fmt.Fprintf(c, ">3\r\n%s%s:1\r\n", chaos.ScriptedBulk(strings.ToLower(r.Cmd)), chaos.ScriptedBulk(r.Args[0]))
		return err
	}})
	const announced = 10_000
	log := make(maintenanceLog, announced)
	s, err := redispubsub.New(connect(t, server.Addr(), redisconn.Opts{Protocol: 3}), redispubsub.Opts{Logger: log})
	require.NoError(t, err)
	defer s.Close()
	sub := s.NewSubscription(redispubsub.SubscriptionOpts{})
	require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("a")))
	bulk := chaos.ScriptedBulk
	server.Broadcast([]byte(strings.Repeat(">3\r\n"+bulk("MIGRATED")+":2\r\n*1\r\n"+bulk("1"), announced)))
	server.Broadcast([]byte(">3\r\n" + bulk("message") + bulk("a") + bulk("hi")))
	take(t, sub, 1)
	assert.Less(t, len(log), announced/2)
	assert.NotEmpty(t, log)
}
