package redistest

import (
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Expectation is one request, or transaction, that a [Mock] expects. Reply, ReplyFunc,
// ServerError, NotSent, Unknown, Fail and NoReply set the answer; the last call
// wins.
type Expectation struct {
	m     *Mock
	want  want
	where string // file:line

	// m.mu guards the fields below.
	outcome     outcome
	least, most int
	used        int
}

// outcome is the answer to a request.
type outcome struct {
	reply  func(got sent) any
	after  time.Duration
	silent bool // there is no answer until Close
}

func (e *Expectation) String() string { return fmt.Sprintf("%s (%s)", e.want, e.where) }

// Reply answers with a value, which must have a type of results: nil (null), string (a simple
// string, such as "OK"), []byte (a bulk string), int64 or int, []any, and, as with
// RESP3, map[string]any, float64, bool and *big.Int. An error within the value represents
// an error from the server. Any other type fails the test. Each request gets a copy.
func (e *Expectation) Reply(value any) *Expectation {
	value, err := e.copied(value)
	if err != nil {
		e.m.fail("%s: Reply: %v", e.where, err)
	}
	return e.end(func(sent) any {
		value, _ := copyReply(value)
		return value
	})
}

// ReplyFunc answers with the result of f: a value of a type that Reply accepts, or an
// error. f gets a copy of the request, with its arguments as strings; for a transaction
// it gets the first request. It is called for one request at a time, in order.
func (e *Expectation) ReplyFunc(f func(r redis.Request) any) *Expectation {
	return e.end(func(got sent) any {
		value, err := e.copied(f(got.request()))
		if err != nil {
			e.m.fail("%s: ReplyFunc: %v", e.where, err)
			return ErrUnexpected.Wrap(err, "ReplyFunc")
		}
		return value
	})
}

// copied returns a copy of a reply, or an error if no server can send such a reply.
func (e *Expectation) copied(reply any) (any, error) {
	value, err := copyReply(reply)
	results, isList := value.([]any)
	if _, failed := value.(error); err != nil || failed || value == nil || !e.want.transaction {
		return value, err
	}
	if n := len(e.want.requests); !isList || len(results) != n {
		return nil, fmt.Errorf("a transaction is answered with a []any of %d results, one for each request", n)
	}
	return value, nil
}

// ServerError answers with an error from the server, such as "ERR no such key" or "MOVED
// 1 10.0.0.1:6379". The error has the type that a connection gives it: redis.ErrResult
// or a subtype.
func (e *Expectation) ServerError(text string) *Expectation {
	err := ServerError(text)
	if !err.IsOfType(redis.ErrResult) {
		e.m.fail("%s: %q is not an error of a server: %v", e.where, text, err)
	}
	return e.Fail(err)
}

// NotSent fails the request with [ErrNotSent]: it did not run.
func (e *Expectation) NotSent() *Expectation {
	return e.Fail(ErrNotSent.New("not connected"))
}

// Unknown fails the request with redis.ErrIO: it may have run.
func (e *Expectation) Unknown() *Expectation {
	return e.Fail(redis.ErrIO.New("the connection was lost"))
}

// Fail fails the request with any error.
func (e *Expectation) Fail(err error) *Expectation {
	return e.end(func(sent) any { return err })
}

// NoReply leaves the request, and all later ones, without an answer until Close.
func (e *Expectation) NoReply() *Expectation {
	return e.set(func() { e.outcome.reply, e.outcome.silent = nil, true })
}

// After delays the answer, and all later ones, as on a connection. The delay starts when the
// previous answers have been given.
func (e *Expectation) After(d time.Duration) *Expectation {
	return e.set(func() { e.outcome.after = d })
}

// Times makes the mock expect the request n times, with the same answer. Default 1.
func (e *Expectation) Times(n int) *Expectation {
	return e.set(func() { e.least, e.most = n, n })
}

// AnyTimes makes the mock accept the request any number of times, or never.
func (e *Expectation) AnyTimes() *Expectation {
	return e.set(func() { e.least, e.most = 0, math.MaxInt })
}

func (e *Expectation) end(reply func(got sent) any) *Expectation {
	return e.set(func() { e.outcome.reply, e.outcome.silent = reply, false })
}

func (e *Expectation) set(change func()) *Expectation {
	e.m.mu.Lock()
	defer e.m.mu.Unlock()
	change()
	return e
}

// Expect adds an expectation of one request, whether it is sent with Send or as a part of SendMany.
// Pass the command's name and its arguments, or only a [redis.Command]. Arguments are compared as
// they are sent, so 1 matches "1". An argument may also be a [Matcher]. Call a method of the
// [Expectation] to set the answer.
func (m *Mock) Expect(cmd any, args ...any) *Expectation {
	req, err := redis.RequestOf(cmd, args...)
	e := m.expect(false, req)
	if err != nil {
		m.fail("%s: %v", e.where, err)
	}
	return e
}

// ExpectTransaction adds an expectation of one SendTransaction with these requests. Reply takes a
// []any with a result for each request, or nil, which means that a watched key has changed.
func (m *Mock) ExpectTransaction(reqs ...redis.Request) *Expectation {
	return m.expect(true, reqs...)
}

// ExpectScan adds an expectation for each step of a whole iteration with opts. The steps are
// answered with pages. Without pages it expects one step, with an empty page.
func (m *Mock) ExpectScan(opts redis.ScanOpts, pages ...[]string) {
	if len(pages) == 0 {
		pages = [][]string{nil}
	}
	cursor := "0"
	for i, page := range pages {
		req := opts.Request([]byte(cursor))
		if cursor = fmt.Sprint(i + 1); i == len(pages)-1 {
			cursor = "0"
		}
		m.expect(false, req).Reply([]any{[]byte(cursor), Bulks(page...)})
	}
}

func (m *Mock) expect(transaction bool, reqs ...redis.Request) *Expectation {
	e := &Expectation{m: m, want: want{transaction: transaction}, least: 1, most: 1}
	if _, file, line, ok := runtime.Caller(2); ok {
		e.where = fmt.Sprintf("%s:%d", filepath.Base(file), line)
	}
	for _, req := range reqs {
		p, err := patternOf(req)
		if err != nil {
			m.fail("%s: %v", e.where, err)
		}
		e.want.requests = append(e.want.requests, p)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expected = append(m.expected, e)
	return e
}

// Verify reports expectations that are not met.
func (m *Mock) Verify() {
	m.mu.Lock()
	var unmet []string
	for _, e := range m.expected {
		if e.used < e.least {
			unmet = append(unmet, fmt.Sprintf("\n\twant: %s, %d of %d times", e, e.used, e.least))
		}
	}
	m.mu.Unlock()
	if len(unmet) > 0 {
		m.fail("requests that were expected and not sent:%s", list(unmet))
	}
}
