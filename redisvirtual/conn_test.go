package redisvirtual

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
)

// worded replaces a newer server's error text for a request that is refused in a transaction by the text of
// Redis 7.0, which virtual connections use.
func worded(say, reply string) string {
	switch refused := strings.HasPrefix(reply, "-ERR Command ") && strings.HasSuffix(reply, "not allowed inside a transaction\r\n"); {
	case refused && strings.Contains(say, "MULTI"):
		return "-ERR MULTI calls can not be nested\r\n"
	case refused && strings.Contains(say, "WATCH"):
		return "-ERR WATCH inside MULTI is not allowed\r\n"
	}
	return reply
}

// A virtual connection answers like a socket: with whole requests, byte by byte, and pipelined.
func TestConnAsSocket(t *testing.T) {
	big := strings.Repeat("x", 300_000)
	script := []string{
		words("PING"), words("ECHO", "a\r\nb"), words("SET", "conn:k", "v"), words("GET", "conn:k"), words("GET", "conn:none"),
		words("LRANGE", "conn:none", "0", "-1"), words("INCR", "conn:k"), words("NOSUCH", "a"), words("GET"), words("A B"), words(""), words("get", "conn:k"),
		words("SET", "conn:big", big), words("GET", "conn:big"), "PING\r\n", "set conn:q \"a \\x41\\n\"\r\n", words("GET", "conn:q"), "\r\n", "*0\r\n", "*-1\r\n",
		words("MULTI"), words("INCR", "conn:n"), words("GET", "conn:n"), words("EXEC"),
		words("MULTI"), words("INCR", "conn:n"), words("MULTI"), words("WATCH", "x"), words("DISCARD"),
		words("EXEC"), words("DISCARD"), words("MULTI"), words("INCR", "conn:q"), words("EXEC"),
		words("WATCH", "conn:w"), words("GET", "conn:w"), words("MULTI"), words("SET", "conn:w", "1"), words("EXEC"), words("UNWATCH"),
		words("WATCH", "conn:w"), words("SET", "conn:w", "2"), words("MULTI"), words("SET", "conn:w", "3"), words("EXEC"), words("GET", "conn:w"),
		words("RPUSH", "conn:l", "1", "2"), words("BLPOP", "conn:l", "1"), words("DEL", "conn:l"), words("BLPOP", "conn:l", "0.01"), words("GET", "conn:k"),
		words("CLIENT", "GETNAME"), words("CLIENT", "SETNAME", "a b"), words("CLIENT", "SETNAME", "me"), words("CLIENT", "GETNAME"), words("CLIENT"), words("SELECT", "0"),
		words("XADD", "conn:s", "1-1", "a", "b"), words("XREAD", "BLOCK", "1", "STREAMS", "conn:s", "0"), words("XREAD", "STREAMS", "conn:s", "5"),
		words("EVAL", "return {1, 'a', {ok='fine'}, {err='ERR no'}}", "0"),
		words("MULTI", "x"), words("MULTI"), words("UNWATCH", "x"), words("EXEC"), words("DISCARD", "x"),
		words("EXEC", "x"), words("WATCH", "conn:w"), words("SET", "conn:w", "1"), words("MULTI"), words("SET", "conn:w", "5"), words("EXEC", "x"), words("EXEC"), words("GET", "conn:w"), words("RESET", "x"), words("WATCH"),
		words("SELECT", "nonsense"), words("SELECT", "5"), words("GET", "conn:k"), words("SET", "conn:k", "five"), words("GET", "conn:k"), words("FLUSHDB"), words("RESET"), words("QUIT"),
	}
	want := socketOf(t)
	want.say(words("FLUSHALL"))
	want.hear(proto.OK)
	var replies []string
	for _, say := range script {
		want.say(say)
		if say == "\r\n" || strings.HasPrefix(say, "*0") || strings.HasPrefix(say, "*-1") {
			replies = append(replies, "")
			continue
		}
		replies = append(replies, worded(say, want.frame()))
	}
	want.ends()
	clean := func() {
		c := socketOf(t)
		c.say(words("FLUSHALL"))
		c.hear(proto.OK)
	}
	t.Run("one by one", func(t *testing.T) {
		clean()
		c := virtual(t)
		for i, say := range script {
			c.say(say)
			if replies[i] != "" {
				require.Equal(t, replies[i], c.frame(), say[:min(len(say), 100)])
			}
		}
		c.ends()
	})
	t.Run("at once", func(t *testing.T) {
		clean()
		c := virtual(t)
		c.say(strings.Join(script, ""))
		for i, say := range script {
			if replies[i] != "" {
				require.Equal(t, replies[i], c.frame(), say[:min(len(say), 100)])
			}
		}
		c.ends()
	})
	t.Run("in pieces", func(t *testing.T) {
		clean()
		c := virtual(t)
		all := strings.Join(script, "")
		go func() {
			for size := 1; len(all) > 0; size = size%4000 + 37 {
				n := min(len(all), size)
				_, _ = c.Write([]byte(all[:n]))
				all = all[n:]
			}
		}()
		for i, say := range script {
			if replies[i] != "" {
				require.Equal(t, replies[i], c.frame(), say[:min(len(say), 100)])
			}
		}
		c.ends()
	})
}

// A virtual connection answers requests in any order, and in pieces of any size, like a socket.
func TestRandomAsSocket(t *testing.T) {
	multi, exec, discard, watch, reset := words("MULTI"), words("EXEC"), words("DISCARD"), words("WATCH", "rnd:k"), words("RESET")
	said := []string{
		multi, multi, exec, exec, discard, watch, reset, words("UNWATCH"),
		words("MULTI", "x"), words("DISCARD", "x"), words("UNWATCH", "x"), words("WATCH"), words("SELECT", "0"), words("PING"), "set rnd:k 'in line'\r\n",
		words("INCR", "rnd:k"), words("SET", "rnd:k", "1"), words("GET", "rnd:k"), words("DEL", "rnd:k"), words("LPUSH", "rnd:k", "x"), words("RPUSH", "rnd:l", "1", "2"),
		words("BLPOP", "rnd:l", "0.01"), words("EVAL", "return {KEYS[1], 1, {err='ERR no'}, false}", "1", "rnd:k"), words("ECHO", strings.Repeat("y", 20_000)),
	}
	seed := rand.Uint64()
	for i := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, i))
		script, inside := []string{words("FLUSHALL")}, false
		for len(script) < 40 {
			say := said[r.IntN(len(said))]
			switch say {
			case multi, watch:
				if inside { // not inside a transaction, because newer servers then refuse EXEC
					continue
				}
				inside = say == multi
			case exec, discard, reset:
				inside = false
			}
			script = append(script, say)
		}
		script = append(script, reset)
		most := []int{10, 1000, 1 << 20}[r.IntN(3)]
		require.Equal(t, play(socketOf(t), script, 1<<20, r), play(virtual(t), script, most, r), "seed %d, %d: %q", seed, i, script)
	}
}

// play returns the replies to a script, which it writes in pieces of at most the given number of
// bytes. It treats all kinds of null as equal, because they differ after WATCH.
func play(c *client, script []string, most int, r *rand.Rand) (replies []string) {
	written := make(chan struct{})
	go func() {
		defer close(written)
		for all := strings.Join(script, ""); all != ""; {
			n := min(len(all), 1+r.IntN(most))
			_, _ = c.Write([]byte(all[:n]))
			all = all[n:]
		}
	}()
	for _, say := range script {
		replies = append(replies, strings.ReplaceAll(worded(say, c.frame()), "*-1\r\n", "$-1\r\n"))
	}
	<-written
	return replies
}
