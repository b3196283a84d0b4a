package chaos

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/slot"
)

// forever is longer than any test or drill.
const forever = 1 << 20 * time.Hour

// Freeze holds back all streams, also those of later connections, like a server that is stopped.
// Nothing is lost: after [Proxy.Heal] the streams continue.
func Freeze() Fault {
	return Fault{Do: Delay, On: Both, At: Now(), Times: -1, Interval: forever}
}

// CutAfter ends each connection after n bytes of replies, possibly in the middle of a reply.
func CutAfter(n int64) Fault {
	return Fault{Do: Cut, On: Replies, At: AtByte(n), Times: -1}
}

// HalfOpen makes the other side of all current connections vanish silently: bytes written to them
// are lost. Later connections work.
func HalfOpen() Fault { return Fault{Do: Swallow, On: Both, At: Now()} }

// BlackHole loses all bytes of one direction, also of later connections. If Requests are lost, the
// server runs nothing. If Replies are lost, it runs everything, but the client does not learn that.
func BlackHole(d Direction) Fault { return Fault{Do: Swallow, On: d, At: Now(), Times: -1} }

// SlowReplies passes n bytes of replies per interval, in each connection.
func SlowReplies(n int, interval time.Duration) Fault {
	return Fault{Do: Trickle, On: Replies, At: Now(), Times: -1, N: n, Interval: interval}
}

// ResetAfterExecution resets the connection once, after the server has run a request that contains
// text, in upper or lower case, and before its reply: the client can't know whether it ran.
func ResetAfterExecution(text string) Fault {
	lower := bytes.ToLower([]byte(text))
	return Fault{Do: Reset, On: Replies, At: AtRequest(func(request []byte) bool {
		return bytes.Contains(bytes.ToLower(request), lower)
	})}
}

// Loading refuses the same commands as a server that is reading its data from disk: all except
// handshakes, subscriptions and queries about the server.
func Loading() Fault {
	return Refusing("LOADING Redis is loading the dataset in memory", func(args []string) bool {
		return !slices.Contains(whileLoading, strings.ToUpper(args[0]))
	})
}

// whileLoading are the commands that Redis 7.0 runs while it is loading, by the first words of
// their names.
var whileLoading = []string{
	"ACL", "AUTH", "CLIENT", "COMMAND", "CONFIG", "DISCARD", "ECHO", "EXEC", "HELLO", "INFO", "LASTSAVE", "LATENCY",
	"MODULE", "MONITOR", "MULTI", "PSUBSCRIBE", "PUBLISH", "PUBSUB", "PUNSUBSCRIBE", "QUIT", "READONLY", "READWRITE",
	"REPLCONF", "RESET", "ROLE", "SELECT", "SHUTDOWN", "SLOWLOG", "SPUBLISH", "SSUBSCRIBE", "SUBSCRIBE",
	"SUNSUBSCRIBE", "TIME", "UNSUBSCRIBE", "UNWATCH", "WATCH",
}

// ReadOnly refuses writes, like a master that has become a replica. Scripts and functions count as writes, unless they are
// called with EVAL_RO, EVALSHA_RO or FCALL_RO.
func ReadOnly() Fault {
	return Refusing("READONLY You can't write against a read only replica.", func(args []string) bool {
		call := callOf(args)
		switch strings.ToUpper(args[0]) {
		case "FLUSHALL", "FLUSHDB", "SWAPDB", "EVAL", "EVALSHA", "FCALL":
			return true
		case "PUBLISH", "SPUBLISH", "SSUBSCRIBE", "SUNSUBSCRIBE":
			return false
		}
		return call.Info != nil && !call.Is(command.ReadOnly) && call.Class != command.Session && keyOf(args) != nil
	})
}

// MovedStorm answers each command that has a key with MOVED to the node addr ("host:port"). If that
// is the proxy's own address, each redirect leads the client back to the proxy.
func MovedStorm(addr string) Fault {
	f := Refusing("", func(args []string) bool { return keyOf(args) != nil })
	f.Answer = func(args []string) string {
		key := keyOf(args)
		if key == nil {
			return "-ERR no key\r\n"
		}
		return fmt.Sprintf("-MOVED %d %s\r\n", slot.Of(*key), addr)
	}
	return f
}

// ClusterDown refuses each command that has a key, like a cluster that has lost some of its slots.
func ClusterDown() Fault {
	return Refusing("CLUSTERDOWN The cluster is down", func(args []string) bool { return keyOf(args) != nil })
}

// Refusing answers the commands that match with an error, which begins with its code in capitals.
// The server does not run them. match is called in the proxy's goroutines. args has the command's
// name and its arguments as the client wrote them; go-redis, for example, writes names in lower
// case.
func Refusing(text string, match func(args []string) bool) Fault {
	reply := "-" + strings.NewReplacer("\r", " ", "\n", " ").Replace(text) + "\r\n"
	return Fault{
		Do: Refuse, On: Requests, Times: -1,
		At:     AtCommand(func(args []string) bool { return len(args) > 0 && match(args) }),
		Answer: func([]string) string { return reply },
	}
}

func callOf(args []string) command.Call {
	rest := make([]any, len(args)-1)
	for i, arg := range args[1:] {
		rest[i] = arg
	}
	return command.Of(args[0], rest)
}

// keyOf returns the first key of a command, or nil if the command is unknown or has no key.
func keyOf(args []string) *string {
	if len(args) == 0 {
		return nil
	}
	call := callOf(args)
	if call.Info == nil {
		return nil
	}
	if i := call.FirstKey(); i >= 0 && i+1 < len(args) {
		return &args[i+1]
	}
	return nil
}
