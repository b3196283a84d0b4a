package redisconn_test

import (
	"fmt"
	"io"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// In ScriptMode the user may change the state of the socket by MULTI, WATCH and SELECT. So the connection keeps its
// socket: after a change of sockets between MULTI and EXEC, commands would run outside of the transaction.
func TestScriptModeIsNotHandedOver(t *testing.T) {
	type state struct{ queued int }
	var mu sync.Mutex
	multi := map[*chaos.ScriptedConn]*state{}
	ran := []string{}
	handler := func(name string) func(*chaos.ScriptedConn, chaos.ScriptedRequest) error {
		return func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
			mu.Lock()
			defer mu.Unlock()
			reply := "+OK\r\n"
			switch s := multi[c]; {
			case r.Cmd == "MULTI":
				multi[c] = &state{}
			case r.Cmd == "EXEC" && s == nil:
				reply = "-ERR EXEC without MULTI\r\n"
			case r.Cmd == "EXEC":
				reply = "*" + strconv.Itoa(s.queued) + "\r\n"
				for range s.queued {
					reply += "+OK\r\n"
				}
				delete(multi, c)
			case s != nil:
				s.queued++
				reply = "+QUEUED\r\n"
			case r.Cmd == "SET":
				ran = append(ran, fmt.Sprintf("%s on %s outside of MULTI", r.Args[0], name))
			}
			_, err := io.WriteString(c, reply)
			return err
		}
	}
	var servers [2]*chaos.ScriptedServer
	for i := range servers {
		servers[i] = chaos.NewScripted(t, chaos.ScriptedOpts{Handler: handler(strconv.Itoa(i))})
	}
	conn := connect(t, servers[0].Addr(), redisconn.Opts{Protocol: 3, ScriptMode: true, IOTimeout: patience})
	db := redis.Sync{S: conn}
	require.Equal(t, "OK", db.Do("MULTI"))
	require.Equal(t, "QUEUED", db.Do("SET", "a", 1))
	servers[0].Broadcast([]byte(moving(servers[1].Addr())))
	for i := 0; i < 2000 && conn.RemoteAddr() != servers[1].Addr(); i++ {
		_ = db.Do("GET", "k")
	}
	require.Equal(t, "QUEUED", db.Do("SET", "b", 1))
	_, ok := db.Do("EXEC").([]any)
	require.True(t, ok)
	require.Empty(t, ran)
}
