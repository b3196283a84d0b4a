package chaos

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// echoRequest returns an ECHO. Its length depends only on the length of id, so that tests can count
// bytes.
func echoRequest(id string) string { return "*2\r\n$4\r\nECHO\r\n" + ScriptedBulk(id) }

type proxyClient struct {
	t    *testing.T
	conn *net.TCPConn
	in   *bufio.Reader
}

func dialProxy(t *testing.T, p *Proxy) *proxyClient {
	conn, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return &proxyClient{t: t, conn: conn.(*net.TCPConn), in: bufio.NewReader(conn)}
}

func (c *proxyClient) send(s string) {
	_, err := io.WriteString(c.conn, s)
	require.NoError(c.t, err)
}

func (c *proxyClient) expect(want string) {
	c.t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(c.in, got)
	require.NoError(c.t, err, "read %q", got[:n])
	require.Equal(c.t, want, string(got))
}

func (c *proxyClient) expectEOF() {
	c.t.Helper()
	rest, err := io.ReadAll(c.in)
	require.NoError(c.t, err)
	require.Empty(c.t, string(rest))
}

// expectRefused dials the proxy, which must refuse. The RST may come before or after the dial
// returns.
func expectRefused(t *testing.T, p *Proxy) {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err == nil {
		defer func() { _ = conn.Close() }()
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		_, err = conn.Read(make([]byte, 1))
	}
	require.True(t, errors.Is(err, syscall.ECONNRESET), "%v", err)
}

func (c *proxyClient) expectReset() {
	c.t.Helper()
	_, err := io.ReadAll(c.in)
	require.True(c.t, errors.Is(err, syscall.ECONNRESET), "%v", err)
}

func echoProxy(t *testing.T) (*Proxy, *ScriptedServer) {
	s := NewScripted(t, ScriptedOpts{Handler: ScriptedEcho})
	return NewProxy(t, s.Addr(), ProxyOpts{Seed: 1}), s
}

func TestProxyPassesAndLogs(t *testing.T) {
	p, _ := echoProxy(t)
	for conn := 1; conn <= 3; conn++ {
		c := dialProxy(t, p)
		for i := range 50 {
			id := fmt.Sprintf("id-%d-%d", conn, i)
			c.send(echoRequest(id))
			c.expect(ScriptedBulk(id))
		}
		require.NoError(t, c.conn.CloseWrite())
		c.expectEOF()
	}
	log := p.Log()
	require.Len(t, log, 150)
	for i, r := range log {
		id := fmt.Sprintf("id-%d-%d", r.Conn, r.Index)
		require.Equal(t, []string{"ECHO", id}, r.Args())
		size := int64(len(echoRequest(id)))
		require.Equal(t, LoggedRequest{
			Conn: 1 + i/50, Index: i % 50, Head: echoRequest(id), Arrived: size, Forwarded: size,
			Complete: true, Delivered: true, Replied: true,
		}, r)
	}
	require.EqualValues(t, 150, p.Stats().Requests)
	require.EqualValues(t, 150, p.Stats().Replies)
	require.Len(t, p.Dials(), 3)
	require.Len(t, p.TakeLog(), 150)
	require.Empty(t, p.Log())
}

func TestProxyCutsAtEveryByte(t *testing.T) {
	request, reply := echoRequest("abc"), ScriptedBulk("abc")
	p, _ := echoProxy(t)
	for n := range len(request) + 1 {
		p.Arm(Fault{Do: Cut, At: AtByte(int64(n)), Conn: n + 1})
		c := dialProxy(t, p)
		_, _ = io.WriteString(c.conn, request)
		rest, err := io.ReadAll(c.in)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(reply, string(rest)))
		require.NoError(t, c.conn.Close())
	}
	require.Eventually(t, func() bool { return p.Stats().Open == 0 }, time.Minute, time.Millisecond)
	forwarded := map[int64]bool{}
	for _, r := range p.TakeLog() {
		require.EqualValues(t, len(request), r.Arrived)
		require.True(t, r.Complete)
		require.Equal(t, r.Forwarded == int64(len(request)), r.Delivered)
		forwarded[r.Forwarded] = true
	}
	require.Len(t, forwarded, len(request)+1)

	for n := range len(reply) + 1 {
		conn := p.Stats().Accepted + 1
		p.Arm(Fault{Do: Cut, On: Replies, At: AtByte(int64(n)), Conn: conn})
		c := dialProxy(t, p)
		_, _ = io.WriteString(c.conn, request)
		c.expect(reply[:n])
		c.expectEOF()
		require.NoError(t, c.conn.Close())
	}
	require.Equal(t, len(request)+len(reply)+2, p.Stats().Faults[Cut])
}

func TestProxyResets(t *testing.T) {
	p, s := echoProxy(t)
	after := p.Arm(Fault{Do: Reset, On: Replies, At: AtRequestID("victim")})
	c, other := dialProxy(t, p), dialProxy(t, p)
	c.send(echoRequest("first") + echoRequest("victim") + echoRequest("third"))
	c.expectReset()
	<-after.First()
	require.Equal(t, 1, after.Fired())
	other.send(echoRequest("other"))
	other.expect(ScriptedBulk("other"))
	require.Contains(t, fmt.Sprint(s.Requests()), "victim", "reset after execution")

	p.Arm(Fault{Do: Reset, At: AtRequestID("before")})
	other.send(echoRequest("before"))
	other.expectReset()
	require.NotContains(t, fmt.Sprint(s.Requests()), "before", "reset before execution")
	last := p.Log()[len(p.Log())-1]
	require.True(t, last.Complete)
	require.Zero(t, last.Forwarded)
}

func TestProxyHalfCloses(t *testing.T) {
	p, s := echoProxy(t)
	c := dialProxy(t, p)
	c.send(echoRequest("1"))
	c.expect(ScriptedBulk("1"))
	p.Arm(Fault{Do: HalfClose, On: Replies, At: Now()})
	c.expectEOF()
	c.send(echoRequest("2"))
	require.Eventually(t, func() bool { return len(s.Requests()) == 2 }, time.Minute, time.Millisecond,
		"the other direction goes on")
}

// swallowing returns how many connections have lost bytes to a black hole.
func swallowing(p *Proxy) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for link := range p.links {
		if link.pumps[Requests].lost.Load() {
			n++
		}
	}
	return n
}

func TestProxySwallowsUntilHealed(t *testing.T) {
	p, s := echoProxy(t)
	c := dialProxy(t, p)
	p.Arm(Fault{Do: Swallow, At: Now(), Times: -1})
	late := dialProxy(t, p)
	c.send(echoRequest("1"))
	late.send(echoRequest("2"))
	require.Eventually(t, func() bool { return swallowing(p) == 2 }, time.Minute, time.Millisecond)
	require.EqualValues(t, 2, p.Stats().Requests)
	require.Empty(t, s.Requests())
	p.Heal()
	c.expectReset()
	late.expectReset()
	again := dialProxy(t, p)
	again.send(echoRequest("3"))
	again.expect(ScriptedBulk("3"))
	for _, r := range p.Log()[:2] {
		require.Zero(t, r.Forwarded)
		require.False(t, r.Replied)
	}
}

func TestProxyShapes(t *testing.T) {
	p, _ := echoProxy(t)
	big := strings.Repeat("x", 100_000)
	p.Arm(Fault{Do: Slice, On: Replies, At: AtByte(0), Times: -1})
	p.Arm(Fault{Do: Slice, At: AtByte(0), Times: -1})
	c := dialProxy(t, p)
	c.send(echoRequest(big))
	c.expect(ScriptedBulk(big))

	p.Heal()
	p.Arm(Fault{Do: Trickle, On: Replies, At: Now(), N: 1, Interval: 5 * time.Millisecond})
	begin := time.Now()
	c.send(echoRequest("0123456789"))
	c.expect(ScriptedBulk("0123456789"))
	require.Greater(t, time.Since(begin), 50*time.Millisecond)

	p.Heal()
	p.Arm(Fault{Do: Delay, On: Replies, At: AtRequestID("late"), Interval: time.Hour})
	c.send(echoRequest("early") + echoRequest("late"))
	c.expect(ScriptedBulk("early"))
	p.Heal()
	c.expect(ScriptedBulk("late"))
}

// Heal also disarms a fault that waits for the reply to a request.
func TestProxyHealedBeforeTheReply(t *testing.T) {
	arrived, answer := make(chan struct{}), make(chan struct{})
	s := NewScripted(t, ScriptedOpts{Handler: func(c *ScriptedConn, r ScriptedRequest) error {
		close(arrived)
		<-answer
		return ScriptedEcho(c, r)
	}})
	p := NewProxy(t, s.Addr(), ProxyOpts{})
	a := p.Arm(Fault{Do: Delay, On: Replies, At: AtRequestID("late"), Interval: time.Hour})
	c := dialProxy(t, p)
	c.send(echoRequest("late"))
	<-arrived
	p.Heal()
	close(answer)
	c.expect(ScriptedBulk("late"))
	require.Zero(t, a.Fired())
}

func TestProxyChangesMessages(t *testing.T) {
	p, _ := echoProxy(t)
	p.Arm(Fault{Do: Flip, On: Replies, At: AtByte(4), Mask: 1})
	p.Arm(Fault{Do: Delete, On: Replies, At: AtMessage(1)})
	p.Arm(Fault{Do: Insert, On: Replies, At: AtMessage(3), Bytes: []byte("+inserted\r\n")})
	p.Arm(Fault{Do: Delete, At: AtRequestID("e")})
	p.Arm(Fault{Do: Flip, At: AtByte(int64(5*len(echoRequest("a"))) + 18), Mask: 2})
	p.Arm(Fault{Do: Insert, On: Replies, At: AtByte(2 * 7), Bytes: []byte("+mid\r\n")})
	c := dialProxy(t, p)
	for _, id := range []string{"a", "b", "c", "d", "e", "h"} {
		c.send(echoRequest(id))
	}
	c.expect(ScriptedBulk("`") + "+mid\r\n" + ScriptedBulk("c") + "+inserted\r\n" + ScriptedBulk("d"))
	c.expect(ScriptedBulk("j"))
	require.NoError(t, c.conn.CloseWrite())
	c.expectEOF()
	log := p.Log()
	require.Len(t, log, 6)
	require.False(t, log[1].Replied, "its reply was deleted")
	require.Zero(t, log[4].Forwarded)
	for _, i := range []int{0, 2, 3, 5} {
		require.True(t, log[i].Replied, i)
	}
}

func TestProxyRepeatsWithItsSeed(t *testing.T) {
	run := func() (faults []int) {
		s := NewScripted(t, ScriptedOpts{Handler: ScriptedEcho})
		p := NewProxy(t, s.Addr(), ProxyOpts{Seed: 42})
		p.Arm(Fault{Do: Delete, On: Replies, At: AtChance(0.3), Times: -1})
		c := dialProxy(t, p)
		for i := range 40 {
			c.send(echoRequest(fmt.Sprintf("%02d", i)))
		}
		require.NoError(t, c.conn.CloseWrite())
		_, err := io.ReadAll(c.in)
		require.NoError(t, err)
		for _, r := range p.Log() {
			if !r.Replied {
				faults = append(faults, r.Index)
			}
		}
		return faults
	}
	first := run()
	require.NotEmpty(t, first)
	require.Equal(t, first, run())
}

func TestProxyRefusesAndDisarms(t *testing.T) {
	p, _ := echoProxy(t)
	p.Refuse(true)
	expectRefused(t, p)
	p.Refuse(false)
	a := p.Arm(Fault{Do: Reset, At: AtByte(0), Times: -1})
	a.Disarm()
	timed := p.Arm(Fault{Do: Reset, At: After(time.Millisecond)})
	<-timed.First()
	c := dialProxy(t, p)
	c.send(echoRequest("1"))
	c.expect(ScriptedBulk("1"))
	require.Zero(t, a.Fired())

	p.SetTarget("127.0.0.1:1")
	expectRefused(t, p)
}

func TestProxyCloseLeavesNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	s, err := ListenScripted(ScriptedOpts{Handler: ScriptedEcho})
	require.NoError(t, err)
	p, err := ListenProxy(s.Addr(), ProxyOpts{})
	require.NoError(t, err)
	p.Arm(Fault{Do: Trickle, On: Replies, At: Now(), Times: -1, Interval: time.Hour})
	p.Arm(Fault{Do: Cut, At: After(time.Hour)})
	for range 5 {
		c := dialProxy(t, p)
		c.send(echoRequest("abc"))
		c.expect("$")
	}
	p.Close()
	p.Close()
	s.Close()
	deadline := time.Now().Add(time.Minute)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if runtime.NumGoroutine() > before {
		stacks := make([]byte, 1<<20)
		t.Fatalf("left over:\n%s", stacks[:runtime.Stack(stacks, true)])
	}
}
