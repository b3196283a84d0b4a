package redisconn_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// CLIENT UNBLOCK names a client by an ID of the old server, which may be the ID of another client on the new one. So it
// must not be written there, even if it enters the queue while the connection is handed over.
func TestUnblockStaysOnItsServer(t *testing.T) {
	held := make(chan struct{})
	var servers [2]*chaos.ScriptedServer
	var unblocks [2]chan struct{}
	for i := range servers {
		unblocks[i] = make(chan struct{}, 100)
		servers[i] = peer(t, func(r chaos.ScriptedRequest) string {
			switch {
			case r.Cmd == "HELLO":
				return hello3
			case r.Cmd == "INFO":
				return chaos.ScriptedBulk("# Server\r\nrun_id:" + strconv.Itoa(i) + "\r\n")
			case r.Cmd == "CLIENT" && r.Args[0] == "ID":
				return ":7\r\n"
			case r.Cmd == "CLIENT" && r.Args[0] == "UNBLOCK":
				unblocks[i] <- struct{}{}
				return ":1\r\n"
			case r.Cmd == "BLPOP" && r.Args[0] == "quick":
				<-unblocks[i]
				return "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"
			case r.Cmd == "BLPOP":
				return "nothing"
			case r.Cmd == "ECHO":
				<-held
			}
			return ""
		})
	}
	conn := connect(t, servers[0].Addr(), redisconn.Opts{Protocol: 3, IOTimeout: patience, Heartbeat: -1})
	db := redis.SyncCtx{S: conn}
	pop := func(list string) {
		ctx, cancel := context.WithCancel(background)
		time.AfterFunc(20*time.Millisecond, cancel)
		require.Error(t, redis.Err(db.Do(ctx, "BLPOP", list, 0)))
	}
	pop("quick") // now the connection knows the process of its server
	echo := sendTo(conn, "ECHO", "a")
	servers[0].Broadcast([]byte(moving(servers[1].Addr())))
	eventually(t, "the right to write is reserved", func() bool {
		before := conn.Stats().WrittenRequests
		conn.Send(redis.Req("GET", "k"), nil, 0)
		time.Sleep(10 * time.Millisecond)
		return conn.Stats().WrittenRequests == before
	})
	pop("long")
	close(held)
	require.NoError(t, redis.Err(echo.Wait(t)))
	eventually(t, "handed over", func() bool { return conn.RemoteAddr() == servers[1].Addr() })
	require.NoError(t, redis.Err(db.Do(background, "GET", "k")))
	require.Empty(t, unblocks[1], "a foreign client was unblocked")
}

// If the new server dies before the announced time, the connection also tries its configured address.
func TestMovedServerDies(t *testing.T) {
	var servers [2]*chaos.ScriptedServer
	for i := range servers {
		servers[i] = chaos.NewScripted(t, chaos.ScriptedOpts{Handler: chaos.ScriptedReplies(fmt.Sprintf("+%d\r\n", i))})
	}
	conn := connect(t, servers[0].Addr(), redisconn.Opts{Protocol: 3, Logger: redisconn.NoopLogger{}})
	db := redis.Sync{S: conn}
	servers[0].Broadcast([]byte(moving(servers[1].Addr())))
	eventually(t, "handed over", func() bool { return conn.RemoteAddr() == servers[1].Addr() })
	servers[1].Close()
	eventually(t, "the configured address answers", func() bool { return db.Do("GET", "k") == "0" })
}
