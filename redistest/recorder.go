package redistest

import (
	"slices"
	"sync"

	"github.com/joomcode/redispipe/redis"
)

// Recorder is a redis.Sender that passes everything on to another Sender and keeps
// copies of the requests. It is safe for concurrent use.
type Recorder struct {
	redis.Sender
	log *callLog
}

// callLog is shared by the recorders of a sender and of its shards.
type callLog struct {
	mu    sync.Mutex // guards calls
	calls []Call
}

// Call is one call of a Sender.
type Call struct {
	// Method is "Send", "SendMany", "SendTransaction", or "Next" for a step of a
	// Scanner, whose request has the cursor 0.
	Method string
	// Requests are the words of each request: the command's name, in one or two words
	// as the caller wrote it, and the arguments as they are sent.
	Requests [][]string
}

// NewRecorder returns a Recorder that passes requests on to s. If s is nil, they fail.
func NewRecorder(s redis.Sender) *Recorder {
	return &Recorder{redis.WithHook(s, nil), &callLog{}} // without a hook, it only replaces a nil sender
}

// Calls returns the calls so far, in order.
func (r *Recorder) Calls() []Call {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	return slices.Clone(r.log.calls)
}

// Requests returns the requests of all calls so far, in order.
func (r *Recorder) Requests() [][]string {
	var all [][]string
	for _, call := range r.Calls() {
		all = append(all, call.Requests...)
	}
	return all
}

// Reset forgets the recorded calls.
func (r *Recorder) Reset() {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	r.log.calls = nil
}

func (r *Recorder) record(method string, reqs ...redis.Request) {
	call := Call{Method: method}
	for _, req := range reqs {
		call.Requests = append(call.Requests, wordsOf(req))
	}
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	r.log.calls = append(r.log.calls, call)
}

// Send implements redis.Sender.
func (r *Recorder) Send(req redis.Request, cb redis.Future, n uint64) {
	r.record("Send", req)
	r.Sender.Send(req, cb, n)
}

// SendMany implements redis.Sender.
func (r *Recorder) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	r.record("SendMany", reqs...)
	r.Sender.SendMany(reqs, cb, start)
}

// SendTransaction implements redis.Sender.
func (r *Recorder) SendTransaction(reqs []redis.Request, cb redis.Future, start uint64) {
	r.record("SendTransaction", reqs...)
	r.Sender.SendTransaction(reqs, cb, start)
}

// Scanner implements redis.Sender.
func (r *Recorder) Scanner(opts redis.ScanOpts) redis.Scanner {
	return recordedScanner{r.Sender.Scanner(opts), r, opts}
}

type recordedScanner struct {
	redis.Scanner
	r    *Recorder
	opts redis.ScanOpts
}

// Next implements redis.Scanner.
func (s recordedScanner) Next(cb redis.Future) {
	s.r.record("Next", s.opts.Request(nil))
	s.Scanner.Next(cb)
}

// EachShard implements redis.Sender. Requests that f sends to the shards are also recorded.
func (r *Recorder) EachShard(f func(redis.Sender, error) bool) {
	if f == nil {
		return
	}
	r.Sender.EachShard(func(shard redis.Sender, err error) bool {
		if shard != nil {
			shard = &Recorder{redis.WithHook(shard, nil), r.log}
		}
		return f(shard, err)
	})
}
