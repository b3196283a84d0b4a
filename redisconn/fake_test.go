package redisconn_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

var background = context.Background()

// patience bounds every wait. It is long, because no test depends on its length.
const patience = time.Minute

// eventually waits until condition holds, which other goroutines bring about.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen: %s", what)
		}
	}
}

// outcome is a future that keeps its result. It panics if it is resolved twice.
type outcome struct {
	result    chan any
	cancelled atomic.Bool
}

func newOutcome() *outcome { return &outcome{result: make(chan any, 1)} }

// Resolve implements redis.Future.
func (o *outcome) Resolve(res any, _ uint64) {
	select {
	case o.result <- res:
	default:
		panic("resolved twice")
	}
}

// Cancelled implements redis.Future.
func (o *outcome) Cancelled() error {
	if o.cancelled.Load() {
		return context.Canceled
	}
	return nil
}

// wait returns the result.
func (o *outcome) wait(t testing.TB) any {
	t.Helper()
	select {
	case res := <-o.result:
		return res
	case <-time.After(patience):
		t.Fatal("a request was lost")
		return nil
	}
}

// sendTo sends a request and returns its future.
func sendTo(conn *redisconn.Connection, cmd string, args ...any) *outcome {
	o := newOutcome()
	conn.Send(redis.Req(cmd, args...), o, 0)
	return o
}

// outcomes is a future for many requests.
type outcomes struct {
	cancelled atomic.Bool
	mu        sync.Mutex // guards results
	results   map[uint64]any
	order     []uint64
	done      chan struct{}
	want      int
}

func newOutcomes(want int) *outcomes {
	return &outcomes{results: map[uint64]any{}, done: make(chan struct{}), want: want}
}

// Resolve implements redis.Future.
func (o *outcomes) Resolve(res any, n uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, twice := o.results[n]; twice {
		panic("resolved twice")
	}
	o.results[n] = res
	o.order = append(o.order, n)
	if len(o.results) == o.want {
		close(o.done)
	}
}

// Cancelled implements redis.Future.
func (o *outcomes) Cancelled() error {
	if o.cancelled.Load() {
		return context.Canceled
	}
	return nil
}

// wait returns the results in the order of the requests.
func (o *outcomes) wait(t testing.TB) []any {
	t.Helper()
	select {
	case <-o.done:
	case <-time.After(patience):
		o.mu.Lock()
		defer o.mu.Unlock()
		t.Fatalf("%d of %d requests were lost", o.want-len(o.results), o.want)
	}
	results := make([]any, o.want)
	for n, res := range o.results {
		results[n] = res
	}
	return results
}

// requireType requires that res is an error of type want.
func requireType(t testing.TB, res any, want *errorx.Type, args ...any) *errorx.Error {
	t.Helper()
	err := redis.AsErrorx(res)
	require.NotNil(t, err, "result is %T: %v %v", res, res, args)
	require.True(t, err.IsOfType(want), "%v is not %s %v", err, want, args)
	return err
}

func requireNotSent(t testing.TB, res any, want *errorx.Type) *errorx.Error {
	t.Helper()
	err := requireType(t, res, want)
	require.True(t, err.HasTrait(redis.ErrTraitNotSent), "%v", err)
	return err
}

func requireUnknown(t testing.TB, res any, want *errorx.Type) *errorx.Error {
	t.Helper()
	err := requireType(t, res, want)
	require.False(t, err.HasTrait(redis.ErrTraitNotSent), "%v", err)
	return err
}

// recorder is a Logger that keeps events and statistics.
type recorder struct {
	mu     sync.Mutex // guards the fields below
	events []redisconn.LogEvent
	stats  []stat
}

type stat struct {
	req            redis.Request
	res            any
	nanos, in, out int64
}

// Report implements redisconn.Logger.
func (r *recorder) Report(_ *redisconn.Connection, event redisconn.LogEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
}

// ReqStat implements redisconn.Logger.
func (r *recorder) ReqStat(_ *redisconn.Connection, req redis.Request, res any, nanos, in, out int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats = append(r.stats, stat{req, res, nanos, in, out})
}

// names returns the types of the events so far.
func (r *recorder) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, event := range r.events {
		names = append(names, strings.TrimPrefix(fmt.Sprintf("%T", event), "redisconn.Log"))
	}
	return names
}

func (r *recorder) count(name string) (n int) {
	for _, other := range r.names() {
		if other == name {
			n++
		}
	}
	return n
}

// event returns the first event of a type, or its zero value.
func event[E redisconn.LogEvent](r *recorder) (e E) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, event := range r.events {
		if e, ok := event.(E); ok {
			return e
		}
	}
	return e
}

// hooked is a socket that calls a test's functions. The library does not treat it as a system
// socket.
type hooked struct {
	net.Conn
	// read, if set, is called with each byte before the client gets it.
	read func(got byte)
	// closed, if set, is called when the socket is closed.
	closed func()
}

// Close implements net.Conn.
func (h *hooked) Close() error {
	if h.closed != nil {
		h.closed()
	}
	return h.Conn.Close()
}

// Read implements net.Conn.
func (h *hooked) Read(p []byte) (int, error) {
	if h.read == nil {
		return h.Conn.Read(p)
	}
	n, err := h.Conn.Read(p[:1])
	if n > 0 {
		h.read(p[0])
	}
	return n, err
}

// pipes is a server at the other ends of net.Pipes, for tests with a fake clock. Its zero value
// answers OK to everything, except to the handshake.
type pipes struct {
	// refuse, if set, is called before each dial. If it returns an error, the dial fails.
	refuse func() error
	// answer returns the reply to a request after the handshake, "" for no reply, or "close" to close
	// the pipe.
	answer func(args []string) string
	// greets, if set, answers the PING of the handshake.
	greets func(args []string) string

	mu    sync.Mutex // guards the rest
	dials []time.Time
	last  net.Conn
}

// dial is an Opts.Dialer.
func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	p.mu.Lock()
	p.dials = append(p.dials, time.Now())
	p.mu.Unlock()
	if p.refuse != nil {
		if err := p.refuse(); err != nil {
			return nil, err
		}
	}
	client, server := net.Pipe()
	p.mu.Lock()
	p.last = server
	p.mu.Unlock()
	go p.serve(server)
	return client, nil
}

// serve answers requests until the pipe is closed.
func (p *pipes) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReaderSize(conn, 64<<10)
	greet := p.greets
	if greet == nil {
		greet = pong
	}
	for greeted := false; ; {
		args, err := readRequest(in)
		if err != nil {
			return
		}
		reply := "+OK\r\n"
		switch {
		case !greeted && args[0] == "PING":
			reply, greeted = greet(args), true
		case p.answer != nil:
			reply = p.answer(args)
		case args[0] == "PING":
			reply = pong(args)
		}
		if reply == "close" {
			return
		}
		if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

// lastConn returns the server's end of the last connection.
func (p *pipes) lastConn() net.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

func (p *pipes) dialed() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]time.Time(nil), p.dials...)
}

func pong(args []string) string {
	if len(args) > 1 {
		return bulk(args[1])
	}
	return "+PONG\r\n"
}

func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

// readRequest reads an array of bulk strings.
func readRequest(in *bufio.Reader) ([]string, error) {
	number := func() (int, error) {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimRight(line[1:], "\r\n"))
	}
	n, err := number()
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		size, err := number()
		if err != nil {
			return nil, err
		}
		body := make([]byte, size+2)
		if _, err := io.ReadFull(in, body); err != nil {
			return nil, err
		}
		args[i] = string(body[:size])
	}
	return args, nil
}
