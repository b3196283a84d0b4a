package redisconn_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// Calls that wait for the rest of an incomplete push end when their contexts end.
func TestContextEndsWaitsForTheRestOfAPush(t *testing.T) {
	const half = ">2\r\n$10\r\ninval"
	server := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(conn *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := "+OK\r\n"
		switch r.Cmd {
		case "INFO":
			reply = chaos.ScriptedBulk("run_id:a")
		case "HALF", "BLPOP":
			reply += half
		}
		_, err := conn.Write([]byte(reply))
		return err
	}})
	conn := connect(t, server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, NoClientInfo: true, Protocol: 3, IOTimeout: patience})
	ctx, cancel := context.WithCancel(background)
	session, err := redis.OpenSession(ctx, conn, "")
	require.NoError(t, err)
	defer session.Close()
	require.Equal(t, "OK", session.Do("HALF"))
	sync := redis.SyncCtx{S: conn}
	require.Equal(t, "OK", sync.Do(background, "BLPOP", "a", 0))
	time.AfterFunc(50*time.Millisecond, cancel)
	blocking := make(chan any, 1)
	go func() { blocking <- sync.Do(ctx, "BLPOP", "a", 0) }()
	require.ErrorIs(t, redis.Err(session.Do("GET", "a")), context.Canceled)
	require.ErrorIs(t, redis.Err(<-blocking), context.Canceled)
}
