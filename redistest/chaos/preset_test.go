package chaos

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// expectSilence checks that no byte can be read for a while.
func (c *proxyClient) expectSilence() {
	c.t.Helper()
	require.NoError(c.t, c.conn.SetReadDeadline(time.Now().Add(10*time.Millisecond)))
	_, err := c.in.ReadByte()
	require.ErrorIs(c.t, err, os.ErrDeadlineExceeded)
	require.NoError(c.t, c.conn.SetReadDeadline(time.Now().Add(time.Minute)))
}

// arrived waits until the server has got n requests.
func arrived(t *testing.T, s *ScriptedServer, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(s.Requests()) >= n }, time.Minute, time.Millisecond)
}

func TestFreeze(t *testing.T) {
	p, s := echoProxy(t)
	before := dialProxy(t, p)
	before.send(echoRequest("a"))
	before.expect(ScriptedBulk("a"))
	p.Arm(Freeze())
	after := dialProxy(t, p)
	before.send(echoRequest("b"))
	after.send(echoRequest("c"))
	before.expectSilence()
	after.expectSilence()
	require.Len(t, s.Requests(), 1)
	p.Heal()
	before.expect(ScriptedBulk("b"))
	after.expect(ScriptedBulk("c"))
}

func TestCutAfter(t *testing.T) {
	p, _ := echoProxy(t)
	p.Arm(CutAfter(9))
	for range 2 { // on each connection
		c := dialProxy(t, p)
		c.send(echoRequest("a") + echoRequest("b"))
		c.expect("$1\r\na\r\n$1")
		c.expectEOF()
	}
}

func TestHalfOpen(t *testing.T) {
	p, s := echoProxy(t)
	before := dialProxy(t, p)
	before.send(echoRequest("a"))
	before.expect(ScriptedBulk("a"))
	p.Arm(HalfOpen())
	before.send(echoRequest("b"))
	before.expectSilence()
	after := dialProxy(t, p)
	after.send(echoRequest("c"))
	after.expect(ScriptedBulk("c"))
	require.Len(t, s.Requests(), 2)
}

func TestBlackHole(t *testing.T) {
	for direction, served := range map[Direction]int{Requests: 0, Replies: 1, Both: 0} {
		t.Run(direction.String(), func(t *testing.T) {
			p, s := echoProxy(t)
			p.Arm(BlackHole(direction))
			c := dialProxy(t, p)
			c.send(echoRequest("a"))
			arrived(t, s, served)
			c.expectSilence()
			require.Len(t, s.Requests(), served)
			require.Eventually(t, func() bool { return p.Stats().Requests == 1 }, time.Minute, time.Millisecond)
			require.Equal(t, []string{"ECHO", "a"}, p.Log()[0].Args())
		})
	}
}

func TestSlowReplies(t *testing.T) {
	p, _ := echoProxy(t)
	p.Arm(SlowReplies(3, time.Millisecond))
	c := dialProxy(t, p)
	c.send(echoRequest("slow"))
	c.expect(ScriptedBulk("slow"))
	require.Equal(t, 1, p.Stats().Faults[Trickle])
}

func TestResetAfterExecution(t *testing.T) {
	p, s := echoProxy(t)
	p.Arm(ResetAfterExecution("echo\r\n$6\r\nVISITS"))
	c := dialProxy(t, p)
	c.send(echoRequest("other"))
	c.expect(ScriptedBulk("other"))
	c.send(echoRequest("visits"))
	c.expectReset()
	require.Len(t, s.Requests(), 2, "it has run")
	c = dialProxy(t, p)
	c.send(echoRequest("visits"))
	c.expect(ScriptedBulk("visits"))
}

func TestRefusing(t *testing.T) {
	const set, get, publish, ping = "SET foo 1\r\n", "GET foo\r\n", "PUBLISH c m\r\n", "PING\r\n"
	readonly := "-READONLY You can't write against a read only replica.\r\n"
	loading := "-LOADING Redis is loading the dataset in memory\r\n"
	down := "-CLUSTERDOWN The cluster is down\r\n"
	moved := "-MOVED 12182 10.0.0.1:6379\r\n"
	for name, tt := range map[string]struct {
		fault Fault
		want  string // the replies to set, get, publish and ping
	}{
		"read only":    {ReadOnly(), readonly + "+OK\r\n+OK\r\n+PONG\r\n"},
		"loading":      {Loading(), loading + loading + "+OK\r\n" + loading},
		"cluster down": {ClusterDown(), down + down + "+OK\r\n+PONG\r\n"},
		"moved storm":  {MovedStorm("10.0.0.1:6379"), moved + moved + "+OK\r\n+PONG\r\n"},
		"any error":    {Refusing("OOM no\r\nmemory", func(args []string) bool { return args[0] == "GET" }), "+OK\r\n-OOM no  memory\r\n+OK\r\n+PONG\r\n"},
		"its default":  {Fault{Do: Refuse, At: AtMessage(1)}, "+OK\r\n-ERR refused by a proxy\r\n+OK\r\n+PONG\r\n"},
		"both ways":    {Fault{Do: Refuse, On: Both, At: AtMessage(3)}, "+OK\r\n+OK\r\n+OK\r\n-ERR refused by a proxy\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := echoProxy(t)
			armed := p.Arm(tt.fault)
			c := dialProxy(t, p)
			c.send(set + get + publish + ping) // in one write; each request gets its reply, in order
			c.expect(tt.want)
			errors := strings.Count(tt.want, "\n-") + strings.Count(tt.want[:1], "-")
			require.Equal(t, errors, armed.Fired())
			for _, r := range s.Requests() {
				if r.Cmd == "ECHO" { // the proxy sends ECHO in place of a refused request
					errors--
				}
			}
			require.Zero(t, errors)
			p.Heal()
			c.send(set)
			c.expect("+OK\r\n")
		})
	}
}

func TestRefusingWrites(t *testing.T) {
	for request, refused := range map[string]bool{
		"set k v": true, "MGET a b": false, "EVAL s 1 k": true, "evalsha s 0": true, "FCALL f 0": true, "EVAL_RO s 1 k": false, "XADD s * f v": true,
		"XREAD STREAMS s 0": false, "FLUSHALL": true, "WATCH k": false, "SPUBLISH c m": false, "CLIENT ID": false,
		"XGROUP CREATE s g $": true, "OBJECT ENCODING k": false, "UNHEARDOF k": false, "": false, "SET": false,
	} {
		match := ReadOnly().At.match
		require.Equal(t, refused, match([]byte(request+"\r\n")), request)
	}
}
