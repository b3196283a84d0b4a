package redistest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// Mock is a redis.Sender that expects requests. It is safe for concurrent use.
type Mock struct {
	t       TB
	answers answers

	mu       sync.Mutex // guards the fields below
	anyOrder bool
	script   bool
	closed   bool
	expected []*Expectation
	shards   []redis.Sender
}

var _ redis.Sender = (*Mock)(nil)

// NewMock returns a Mock that expects requests in the order in which you declare them.
// It reports to t, and is verified and closed when the test ends. With a nil t it
// panics instead of reporting; then call Verify and Close yourself.
func NewMock(t TB) *Mock {
	m := &Mock{t: t, answers: answers{closed: make(chan struct{})}}
	if t != nil {
		t.Cleanup(func() {
			m.Close()
			m.Verify()
		})
	}
	return m
}

// AnyOrder makes the mock accept requests in any order: the first expectation that matches and is
// not used up answers. AnyOrder returns the mock.
func (m *Mock) AnyOrder() *Mock {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.anyOrder = true
	return m
}

// ScriptMode makes the mock accept the commands that only a connection with
// redisconn.Opts.ScriptMode accepts: blocking commands, WATCH, MULTI. ScriptMode returns the mock.
func (m *Mock) ScriptMode() *Mock {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script = true
	return m
}

// SetShards makes EachShard pass these senders instead of the mock, as if each were a master of a
// cluster. nil represents a master without a connection.
func (m *Mock) SetShards(shards ...redis.Sender) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shards = slices.Clone(shards)
}

// fail reports a failure of the test. It must not be called with m.mu held.
func (m *Mock) fail(format string, args ...any) {
	text := "redistest: " + fmt.Sprintf(format, args...)
	if m.t == nil {
		panic(text)
	}
	m.t.Helper()
	m.t.Errorf("%s", text)
}

// Send implements redis.Sender.
func (m *Mock) Send(r redis.Request, cb redis.Future, n uint64) {
	// A single request may block, because it gets its own connection.
	if err, _ := m.refusal([]redis.Request{r}, cb, redis.Blocking(r.Cmd)); err != nil {
		m.resolve(err, cb, n)
		return
	}
	m.take(false, []redis.Request{r}, cb, n)
}

// SendMany implements redis.Sender. Each request needs a separate expectation. If
// one of them is malformed, none is sent.
func (m *Mock) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	err, at := m.refusal(reqs, cb, false)
	for i := range reqs {
		n := start + uint64(i)
		switch {
		case err == nil:
			m.take(false, reqs[i:i+1], cb, n)
		case at < 0 || at == i:
			m.resolve(err, cb, n)
		default:
			m.resolve(errBatch(err, at), cb, n)
		}
	}
}

// SendTransaction implements redis.Sender. A transaction without requests needs no expectation:
// its result is an empty array.
func (m *Mock) SendTransaction(reqs []redis.Request, cb redis.Future, start uint64) {
	err, at := m.refusal(reqs, cb, false)
	switch {
	case len(reqs) == 0 && (err == nil || err.IsOfType(redis.ErrContextClosed)):
		m.resolve([]any{}, cb, start)
	case err == nil:
		m.take(true, reqs, cb, start)
	case at < 0:
		m.resolve(err, cb, start)
	default:
		m.resolve(errBatch(err, at), cb, start)
	}
}

// refusal returns the error with which a connection would refuse the requests, and the index of the
// malformed request, or -1 if the error is not about a single request. own allows blocking
// commands.
func (m *Mock) refusal(reqs []redis.Request, cb redis.Future, own bool) (*errorx.Error, int) {
	m.mu.Lock()
	closed, own := m.closed, own || m.script
	m.mu.Unlock()
	if cb != nil {
		if err := cb.Cancelled(); err != nil {
			return redis.ErrRequestWithdrawn.Wrap(err, "cancelled before it was sent"), -1
		}
	}
	for i, req := range reqs {
		if err := redis.CheckRequest(req, own); err != nil {
			return redis.AsErrorx(err), i
		}
	}
	if closed {
		return redis.ErrContextClosed.New("the mock is closed"), -1
	}
	return nil, -1
}

func errBatch(cause *errorx.Error, at int) *errorx.Error {
	return redis.ErrBatchFormat.Wrap(cause, "the request at index %d of the batch is malformed", at)
}

// take answers the requests with the expectation that matches them.
func (m *Mock) take(transaction bool, reqs []redis.Request, cb redis.Future, n uint64) {
	got := sent{transaction: transaction}
	for _, req := range reqs {
		got.requests = append(got.requests, wordsOf(req))
	}
	e, o, differences := m.match(got)
	switch {
	case e == nil:
		m.resolve(ErrUnexpected.New("the test expects no such request"), cb, n)
		m.fail("a request that was not expected:\n\tgot:  %s%s", got, list(differences))
	case o.reply == nil && !o.silent:
		m.resolve(ErrUnexpected.New("the test does not say how the request ends"), cb, n)
		m.fail("%s: nothing says how the expected request ends: %s", e.where, got)
	default:
		m.answers.add(answer{outcome: o, got: got, cb: cb, n: n})
	}
}

// match uses the expectation that matches the sent requests, or returns the differences from the
// expectations that could have matched. A [Matcher] may end the goroutine, as t.FailNow does.
func (m *Mock) match(got sent) (*Expectation, outcome, []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var differences []string
	for _, e := range m.expected {
		if e.used >= e.most {
			continue
		}
		difference := e.want.difference(got)
		if difference == "" {
			e.used++
			return e, e.outcome, nil
		}
		differences = append(differences, fmt.Sprintf("\n\twant: %s\n\t      %s", e, difference))
		if !m.anyOrder && e.used < e.least {
			break
		}
	}
	if differences == nil {
		differences = []string{"\n\twant: nothing more"}
	}
	return nil, outcome{}, differences
}

// resolve resolves the future of a request that was refused.
func (m *Mock) resolve(res any, cb redis.Future, n uint64) {
	m.answers.add(answer{outcome: outcome{reply: func(sent) any { return res }}, refused: true, cb: cb, n: n})
}

// Scanner implements redis.Sender. Each step is a request and needs an expectation:
// see ExpectScan.
func (m *Mock) Scanner(opts redis.ScanOpts) redis.Scanner {
	return &scanner{ScannerBase: redis.ScannerBase{ScanOpts: opts}, m: m}
}

type scanner struct {
	redis.ScannerBase
	m *Mock
}

// Next implements redis.Scanner.
func (s *scanner) Next(cb redis.Future) {
	if s.IterLast() {
		s.m.resolve(redis.ScanEOF, cb, 0)
		return
	}
	s.DoNext(cb, s.m)
}

// EachShard implements redis.Sender: it calls f with the mock, or with the senders of
// SetShards.
func (m *Mock) EachShard(f func(redis.Sender, error) bool) {
	if f == nil {
		return
	}
	m.mu.Lock()
	shards := m.shards
	m.mu.Unlock()
	if shards == nil {
		f(m, nil)
		return
	}
	for _, shard := range shards {
		var err error
		if shard == nil {
			err = ErrNotSent.New("the master is not connected")
		}
		if !f(shard, err) {
			return
		}
	}
}

// Close implements redis.Sender. Requests that wait for their answers fail with redis.ErrIO, later
// requests with redis.ErrContextClosed. Close does not wait.
func (m *Mock) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.closed = true
		close(m.answers.closed)
	}
}
