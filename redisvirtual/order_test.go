package redisvirtual

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
)

// Requests that a client writes at once run in their order, no matter which connections they use.
func TestOrder(t *testing.T) {
	conn := connect(t, server.Addr(), defaults)
	v := over(t, conn)
	const rounds = 20
	for round := range rounds {
		k := fmt.Sprintf("order:%d", round)
		v.say(words("RPUSH", k, "a") + words("DEL", k) + words("BLPOP", k, "0.01") + words("RPUSH", k, "b") + words("BLPOP", k, "1") +
			words("SET", k, "1") + words("WATCH", k) + words("INCR", k) + words("MULTI") + words("INCR", k) + words("EXEC") + words("GET", k) + words("UNWATCH"))
	}
	for round := range rounds {
		k := fmt.Sprintf("order:%d", round)
		v.hear(":1\r\n:1\r\n*-1\r\n:1\r\n" + words(k, "b") + proto.OK + proto.OK + ":2\r\n" + proto.OK + proto.Queued + "*-1\r\n$1\r\n2\r\n" + proto.OK)
	}
}

// No client gets another client's reply, no matter how many share a socket.
func TestShare(t *testing.T) {
	for _, opts := range []redisconn.Opts{{}, {Integrity: true}, {Protocol: 3}} {
		conn := connect(t, server.Addr(), opts)
		var all sync.WaitGroup
		for i := range 32 {
			all.Go(func() {
				v := over(t, conn)
				if opts.Protocol == 3 {
					v.say(words("HELLO", "3"))
					v.frame()
				}
				for n := range 200 {
					id := fmt.Sprintf("%d:%d", i, n)
					v.say(words("ECHO", id) + words("MULTI") + words("ECHO", id) + words("EXEC") + words("ECHO", id+"b"))
					v.hear(fmt.Sprintf("$%d\r\n%s\r\n+OK\r\n+QUEUED\r\n*1\r\n$%d\r\n%s\r\n$%d\r\n%sb\r\n", len(id), id, len(id), id, len(id)+1, id))
				}
				_ = v.Close()
			})
		}
		all.Wait()
	}
}

// A pipeline may have more requests than the queue has room for.
func TestLongPipeline(t *testing.T) {
	conn := connect(t, server.Addr(), redisconn.Opts{MaxRequests: 100})
	v := over(t, conn)
	const n = 5000
	go v.say(strings.Repeat(words("INCR", "long"), n/50))
	for i := range n / 50 {
		v.hear(fmt.Sprintf(":%d\r\n", i+1))
	}
	for range 50 {
		v.say(words("PING"))
	}
	v.hear(strings.Repeat("+PONG\r\n", 50))
}

// A request allocates nothing.
func TestAllocs(t *testing.T) {
	v := virtual(t)
	set, reply := []byte(words("SET", "allocs", "value")), make([]byte, 64)
	round := func() {
		_, _ = v.Conn.Write(set)
		_, _ = v.Conn.Read(reply)
	}
	round()
	require.LessOrEqual(t, testing.AllocsPerRun(1000, round), 1.0)
}

// If the server refuses to queue a request of a transaction, the client gets the error as the reply to that
// request if it has written the whole transaction at once, and otherwise as the reply to EXEC.
func TestQueueRefused(t *testing.T) {
	v := virtual(t)
	v.say(words("MULTI") + words("GET") + words("PING") + words("EXEC") + words("PING"))
	v.hear(proto.OK + "-ERR wrong number of arguments for 'get' command\r\n" + proto.Queued)
	v.hear("-EXECABORT Transaction discarded because of previous errors.\r\n+PONG\r\n")
	v.say(words("WATCH", "a"))
	v.hear(proto.OK)
	v.say(words("MULTI") + words("GET") + words("PING") + words("EXEC") + words("PING"))
	v.hear(proto.OK + "-ERR wrong number of arguments for 'get' command\r\n" + proto.Queued)
	v.hear("-EXECABORT Transaction discarded because of previous errors.\r\n+PONG\r\n")
	for _, say := range []string{words("MULTI"), words("GET"), words("PING")} {
		v.say(say)
		v.frame()
	}
	v.say(words("PING") + words("EXEC") + words("PING"))
	v.hear(proto.Queued + "-EXECABORT Transaction discarded because of: ERR wrong number of arguments for 'get' command\r\n+PONG\r\n")
	for _, say := range []string{words("WATCH", "a"), words("MULTI"), words("GET")} {
		v.say(say)
		v.frame()
	}
	v.say(words("EXEC") + words("PING"))
	v.hear("-EXECABORT Transaction discarded because of: ERR wrong number of arguments for 'get' command\r\n+PONG\r\n")
}
