package redisconn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// An announcement of maintenance is reported, no matter which goroutine reads it. No reply and no
// socket is lost.
func TestMaintenanceIsReported(t *testing.T) {
	moving := ">4\r\n$6\r\nMOVING\r\n:1\r\n:15\r\n$3\r\nh:1\r\n"
	others := ">0\r\n>1\r\n*0\r\n>2\r\n$5\r\nother\r\n:1\r\n>9\r\n$9\r\nSMIGRATED\r\n" + strings.Repeat(":1\r\n", 8)
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: chaos.ScriptedReplies(moving+"$3\r\none\r\n", "$3\r\ntwo\r\n")})
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Protocol: 3, Logger: log})
	db := redis.SyncCtx{S: conn}
	var got string
	require.NoError(t, db.DoInto(t.Context(), &got, "GET", "a"))
	require.Equal(t, "one", got)
	require.Equal(t, redisconn.LogMaintenance{Kind: "MOVING", In: 15 * time.Second, Endpoint: "h:1"}, conntest.Event[redisconn.LogMaintenance](log))
	s.Broadcast([]byte(others)) // arrives while no request is pending
	eventually(t, "reported", func() bool { return log.Count("Maintenance") == 2 })
	require.Equal(t, []byte("two"), db.Do(t.Context(), "GET", "a"))
	require.Zero(t, log.Count("Disconnected"))
}

// A server that announces maintenance again and again does not fill the log.
func TestMaintenanceIsLimited(t *testing.T) {
	const announced = 10_000
	flood := strings.Repeat(">3\r\n$8\r\nMIGRATED\r\n:1\r\n*0\r\n", announced)
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: chaos.ScriptedReplies(flood + "$3\r\none\r\n")})
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Protocol: 3, Logger: log})
	require.Equal(t, []byte("one"), redis.Sync{S: conn}.Do("GET", "a"))
	require.NotZero(t, log.Count("Maintenance"))
	require.Less(t, log.Count("Maintenance"), announced/2)
}
