package torture

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// damage tells how a server of T9 damages one reply.
type damage struct {
	tag     string // the tag of the request
	at, bit int
}

// inValue reports whether the damage is within the value. RESP has no checksum, so nobody can
// notice such damage.
func (d damage) inValue() bool {
	reply := chaos.ScriptedBulk(d.tag)
	return d.at > strings.IndexByte(reply, '\n') && d.at < len(reply)-2
}

// T9: each bit of a reply is flipped. A change outside the value is always noticed, and other
// replies are never affected.
func TestT9FlippedBit(t *testing.T) {
	var victim atomic.Pointer[damage]
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := []byte(chaos.ScriptedBulk(r.Args[0]))
		if d := victim.Load(); r.Args[0] == d.tag {
			reply[d.at] ^= 1 << d.bit
		}
		_, err := c.Write(reply)
		return err
	}})
	ledger := oracle.NewLedger("t9")
	noticed := 0
	const length = len("$7\r\nt9:1234\r\n")
	for i := range length * 8 {
		if flipOne(t, s, ledger, &victim, damage{at: i / 8, bit: i % 8}) != oracle.Value {
			noticed++
		}
	}
	passes(t, ledger.Finish(0))
	require.GreaterOrEqual(t, noticed, 8*6-1, "type, length and line ends")
	t.Logf("%d flips noticed; %v", noticed, ledger.Report)
}

// flipOne sends four requests on a new connection, and damages the reply to the second one. It
// returns the outcome of that request.
func flipOne(t *testing.T, s *chaos.ScriptedServer, ledger *oracle.Ledger, victim *atomic.Pointer[damage], d damage) oracle.Outcome {
	opts := fast()
	opts.ReconnectPause, opts.Logger = -1, redisconn.NoopLogger{}
	var conn *redisconn.Connection
	require.Eventually(t, func() bool { // repeated, because the time-outs are short for a busy machine
		var err error
		conn, err = redisconn.Connect(context.Background(), s.Addr(), opts)
		return err == nil
	}, patience, time.Millisecond)
	defer conn.Close()
	for ledger.Issued() < 1000 { // so that all tags have the same length
		ledger.Resolve(nil, ledger.Issue(nil))
	}
	ids := make([]uint64, 4)
	for i := range ids {
		ids[i] = ledger.IssueTagged(oracle.IsBulk)
	}
	d.tag = ledger.Tag(ids[1])
	victim.Store(&d)
	if d.inValue() {
		ledger.Ignore(ids[1])
	}
	for _, id := range ids {
		conn.Send(redis.Req("ECHO", ledger.Tag(id)), ledger, id)
	}
	require.Eventually(t, func() bool { return ledger.Open() == 0 }, patience, 100*time.Microsecond)
	return ledger.Outcome(ids[1])
}

// T10: a reply is inserted or deleted. It is unknown which reply is the wrong one, so the
// connection is closed.
func TestT10InsertedOrDeletedReply(t *testing.T) {
	beside(t)
	for do, timeout := range map[chaos.Action]time.Duration{
		chaos.Insert: 3 * patience, // noticed at once
		chaos.Delete: 3 * time.Second,
	} {
		t.Run(string(do), func(t *testing.T) {
			beside(t)
			// Only the time-out shows that a reply was deleted. Before that, nothing else may break
			// the connection, because then the fault would hit the next connection.
			opts := untimed()
			opts.IOTimeout = timeout
			r := newRig(t, RigOpts{Conn: opts})
			for range long(5, 2) {
				before := r.Events.Count("LogDisconnected")
				r.Proxy.Arm(chaos.Fault{
					Do: do, On: chaos.Replies, At: chaos.AtChance(0.5), Bytes: []byte("$5\r\nwrong\r\n"),
				})
				ignore := oracle.NewLedger("ignored")
				for range 20 {
					r.Conn.Send(redis.Req("PING"), ignore, ignore.Issue(nil))
				}
				require.Eventually(t, func() bool { return r.Events.Count("LogDisconnected") > before },
					patience, time.Millisecond)
				require.False(t, ignore.Finish(patience).Failed(), "%v", ignore.Report)
				r.Proxy.Heal()
				_, err := r.WaitConnected(patience)
				require.NoError(t, err)
				r.Load(4, 20).Run(context.Background())
				require.Eventually(t, func() bool { return r.Ledger.Open() == 0 }, patience, time.Millisecond)
			}
			judge(t, r)
		})
	}
}

// T10: with Opts.Integrity no wrong reply is delivered, no matter which replies are inserted or
// deleted under load. (But not both in one batch, because then the number of replies is right.)
func TestT10Integrity(t *testing.T) {
	for _, do := range []chaos.Action{chaos.Insert, chaos.Delete} {
		t.Run(string(do), func(t *testing.T) {
			opts := fast()
			opts.Integrity = true
			r := newRig(t, RigOpts{Conn: opts})
			r.Proxy.Arm(chaos.Fault{
				Do: do, On: chaos.Replies, At: chaos.AtChance(0.003), Times: -1, Bytes: []byte("$5\r\nwrong\r\n"),
			})
			const enough = 4
			for round := 0; round < 100 && r.Proxy.Stats().Faults[do] < enough; round++ {
				load := r.Load(8, long(1000, 300))
				load.Window = 16
				load.Run(context.Background())
			}
			r.Proxy.Heal()
			report, _ := judge(t, r)
			require.GreaterOrEqual(t, r.Proxy.Stats().Faults[do], enough)
			require.Positive(t, report.Outcomes(oracle.Value))
		})
	}
}

// T10: an unsolicited reply arrives on an idle connection.
func TestT10UnsolicitedReply(t *testing.T) {
	opts := untimed()
	events := NewEvents()
	opts.Logger = events
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: chaos.ScriptedEcho})
	conn, err := redisconn.Connect(context.Background(), s.Addr(), opts)
	require.NoError(t, err)
	defer conn.Close()
	for i := range 3 {
		s.Broadcast([]byte("+OK\r\n"))
		require.Eventually(t, func() bool { return events.Count("LogDisconnected") == i+1 }, patience, time.Millisecond)
		require.Eventually(t, conn.ConnectedNow, patience, time.Millisecond)
		require.Equal(t, "x", string(redis.Sync{S: conn}.Do("ECHO", "x").([]byte)))
	}
}

// hostile returns replies that no good server sends. None of them may be returned as a value, crash
// the client, or make it allocate memory for bytes that have not arrived.
func hostile() map[string]string {
	replies := map[string]string{
		"huge bulk":           "$9223372036854775807\r\n",
		"bulk over the bound": "$536870913\r\n",
		"bulk overflow":       "$9223372036854775808\r\n",
		"bulk as promised":    "$536870911\r\nnot so much\r\n",
		"huge array":          "*2147483647\r\n",
		"largest array":       "*9223372036854775807\r\n",
		"array as promised":   "*134217728\r\n:1\r\n",
		"array of arrays":     strings.Repeat("*134217728\r\n", 100),
		"huge map":            "%4611686018427387904\r\n",
		"huge set":            "~2147483647\r\n",
		"huge push":           ">2147483647\r\n",
		"huge attribute":      "|2147483647\r\n",
		"bulk -2":             "$-2\r\n",
		"bulk -0":             "$-0\r\n\r\n",
		"bulk +1":             "$+1\r\na\r\n",
		"array -2":            "*-2\r\n",
		"map -1":              "%-1\r\n",
		"array -0":            "*-0\r\n",
		"no length":           "$\r\n\r\n",
		"no count":            "*\r\n",
		"not a length":        "$abc\r\n",
		"length with space":   "$ 1\r\na\r\n",
		"length with tail":    "$1x\r\na\r\n",
		"fraction":            "$1.0\r\na\r\n",
		"hexadecimal":         "$0x1\r\na\r\n",
		"no body end":         "$1\r\nabc\r\n",
		"LF body end":         "$1\r\na\n+OK\r\n",
		"CR only":             "+OK\r+OK\r",
		"LF only":             "+OK\n",
		"CR in a line":        "+O\rK\r\n",
		"empty line":          "\r\n",
		"only LF":             "\n",
		"unknown type":        "?what\r\n",
		"NUL":                 "\x00\x00\x00\x00\r\n",
		"letters":             "HTTP/1.1 400 Bad Request\r\n\r\n",
		"TLS alert":           "\x15\x03\x03\x00\x02\x02\x28\r\n",
		"int empty":           ":\r\n",
		"int letters":         ":12a\r\n",
		"int overflow":        ":9223372036854775808\r\n",
		"int underflow":       ":-9223372036854775809\r\n",
		"int sign only":       ":-\r\n",
		"int two signs":       ":--1\r\n",
		"int space":           ": 1\r\n",
		"null with text":      "_x\r\n",
		"bool other":          "#x\r\n",
		"bool long":           "#true\r\n",
		"double words":        ",one\r\n",
		"double empty":        ",\r\n",
		"big letters":         "(12x\r\n",
		"big empty":           "(\r\n",
		"verbatim short":      "=2\r\nab\r\n",
		"verbatim no colon":   "=5\r\ntxtab\r\n",
		"error body missing":  "!5\r\nERR\r\n",
		"streamed":            "$?\r\n;1\r\na\r\n;0\r\n",
		"end of stream":       ".\r\n",
		"truncated line":      "+OK",
		"truncated length":    "$1",
		"truncated bulk":      "$10\r\nabc",
		"truncated body end":  "$3\r\nabc\r",
		"truncated array":     "*3\r\n:1\r\n:2\r\n",
		"truncated map":       "%2\r\n+a\r\n:1\r\n+b\r\n",
		"line without end":    "+" + strings.Repeat("x", 1<<20),
		"number without end":  ":" + strings.Repeat("1", 1<<20),
		"garbage in an array": "*2\r\n$1\r\na\r\n?\r\n",
		"push in an array":    "*1\r\n>1\r\n+a\r\n",
	}
	for _, kind := range []string{"*1\r\n", "%1\r\n+k\r\n", "~1\r\n", "|1\r\n+k\r\n"} {
		replies["nested "+kind[:2]] = strings.Repeat(kind, 1<<20/len(kind))
	}
	return replies
}

// T11: hostile replies from a server, through the whole client.
func TestT11HostileReplies(t *testing.T) {
	var reply atomic.Value
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, _ chaos.ScriptedRequest) error {
		if _, err := io.WriteString(c, reply.Load().(string)); err != nil {
			return err
		}
		return io.EOF
	}})
	for name, bytes := range hostile() {
		reply.Store(bytes)
		for _, protocol := range []int{2, 3} {
			events := NewEvents()
			opts := untimed()
			opts.Logger, opts.Protocol, opts.ReconnectPause = events, protocol, -1
			conn, err := redisconn.Connect(context.Background(), s.Addr(), opts)
			require.NoError(t, err)
			ledger := oracle.NewLedger(fmt.Sprintf("%s %d", name, protocol))
			before := oracle.TakeAllocated()
			for range 3 {
				conn.Send(redis.Req("GET", "a"), ledger, ledger.Issue(func(res any) error {
					return fmt.Errorf("%s was taken for a value: %.100q", name, fmt.Sprint(res))
				}))
			}
			report := ledger.Finish(patience)
			passes(t, report)
			require.Eventually(t, func() bool { return events.Count("LogDisconnected") == 1 }, patience, 100*time.Microsecond, name)
			// The bound is 64 KiB and 4 times the input, plus what client, test and server allocate
			// for two buffers of 64 KiB each.
			require.LessOrEqual(t, oracle.TakeAllocated()-before, uint64(1<<20+8*len(bytes)), "%s: allocated", name)
			conn.Close()
		}
	}
}

// T11: endless nesting would need more memory than there is.
func TestT11EndlessNesting(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: chaos.ScriptedHuge("", "*1\r\n", 10_000_000*4, "")})
	opts := untimed()
	opts.Logger, opts.ReconnectPause = redisconn.NoopLogger{}, -1
	conn, err := redisconn.Connect(context.Background(), s.Addr(), opts)
	require.NoError(t, err)
	defer conn.Close()
	before := oracle.TakeAllocated()
	res := redis.Sync{S: conn}.Do("GET", "a")
	require.Error(t, redis.AsError(res))
	require.LessOrEqual(t, oracle.TakeAllocated()-before, uint64(4<<20))
}
