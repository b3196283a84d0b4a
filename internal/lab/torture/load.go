package torture

import (
	"context"
	"fmt"
	"math/rand"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
)

// Load sends a mix of requests whose results the oracle can judge: ECHO, SET and GET of values that
// contain their owner, RPUSH to the execution log, INCR of a counter, batches and transactions.
type Load struct {
	// Sender is the client under test.
	Sender redis.Sender
	// Ledger, Log and Counter judge the results.
	Ledger  *oracle.Ledger
	Log     *oracle.ExecLog
	Counter *oracle.Counter
	// Name is the beginning of all keys.
	Name string
	// Seed is the seed of the workers' random choices.
	Seed int64
	// Workers is the number of goroutines. Requests is the number of requests of each. 0 means that
	// they send until the context ends.
	Workers, Requests int
	// MinValue and MaxValue are the sizes of values. Default 64 to 256 bytes.
	MinValue, MaxValue int
	// Window is the number of requests that a worker has in flight. Default 1.
	Window int
	// Timeout, if set, makes workers send single requests through SyncCtx, with that deadline.
	Timeout time.Duration
	// Took, if set, is called with the duration of each request that has a Timeout.
	Took func(time.Duration)
	// Pause is how long a worker pauses after each request.
	Pause time.Duration
	// Calm leaves out everything except single requests with a single reply.
	Calm bool
	// Unordered is for clients that promise no order among requests in flight, such as those of a
	// cluster, where each request may be redirected separately. Then each request writes to its own
	// list.
	Unordered bool
}

// refusedPause keeps workers from spinning while all requests are refused.
const refusedPause = time.Millisecond

// Run runs the workers, and returns when they have sent everything. Call Ledger.Finish to wait for
// the requests in flight.
func (l *Load) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for w := range l.Workers {
		wg.Go(func() { l.newWorker(w).run(ctx) })
	}
	wg.Wait()
}

// worker is one goroutine of a Load. The number of its tokens bounds its requests in flight.
type worker struct {
	*Load
	num    int
	rnd    *rand.Rand
	tokens chan *token
}

// token is the right to have a request, a batch or a transaction in flight. For a single request,
// the token is also the redis.Future.
type token struct {
	*worker
	num int
}

func (l *Load) newWorker(num int) *worker {
	window := max(l.Window, 1)
	w := &worker{
		Load: l, num: num,
		rnd:    rand.New(rand.NewSource(l.Seed*7919 + int64(num))),
		tokens: make(chan *token, window),
	}
	for i := range window {
		w.tokens <- &token{w, i}
	}
	return w
}

func (w *worker) run(ctx context.Context) {
	for i := 0; w.Requests == 0 || i < w.Requests; i++ {
		if ctx.Err() != nil {
			return
		}
		if w.Timeout > 0 {
			w.call(ctx)
		} else {
			select {
			case t := <-w.tokens:
				t.send()
			case <-ctx.Done():
				return
			}
		}
		if w.Pause > 0 {
			time.Sleep(w.Pause)
		}
	}
}

// Resolve implements redis.Future for a single request.
func (t *token) Resolve(res any, id uint64) {
	t.Ledger.Resolve(res, id)
	t.free(res)
}

// Cancelled implements redis.Future.
func (t *token) Cancelled() error { return nil }

// free lets the worker send the next request, after a pause if this one was refused.
func (t *token) free(res any) {
	put := func() {
		select {
		case t.tokens <- t:
		default: // the request was resolved twice, which the ledger reports
		}
	}
	if outcome, _ := oracle.Classify(res); outcome == oracle.NotSent {
		time.AfterFunc(refusedPause, put)
		return
	}
	put()
}

// list returns the key of the list to which the request with the given place in its batch writes.
func (t *token) list(place int) string {
	if !t.Unordered {
		return t.key("log")
	}
	return t.key(fmt.Sprintf("log%d.%d", t.num, place))
}

// call sends one request with a deadline.
func (w *worker) call(ctx context.Context) {
	req, id := w.request(w.key("log"))
	// The context is not a child of ctx: the end of ctx stops the load, but not requests in flight.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Timeout)
	defer cancel()
	begin := time.Now()
	res := redis.SyncCtx{S: w.Sender}.Send(ctx, req)
	if w.Took != nil {
		w.Took(time.Since(begin))
	}
	w.Ledger.Resolve(res, id)
	if outcome, _ := oracle.Classify(res); outcome == oracle.NotSent {
		time.Sleep(refusedPause)
	}
}

// send sends one request, a batch or a transaction.
func (t *token) send() {
	kind := t.rnd.Intn(20)
	if t.Calm {
		kind = 2
	}
	switch kind {
	case 0:
		t.sendMany()
	case 1:
		t.sendTransaction()
	default:
		req, id := t.request(t.list(0))
		t.Sender.Send(req, t, id)
	}
}

func (t *token) sendMany() {
	n := 1 + t.rnd.Intn(5)
	reqs, ids, left := make([]redis.Request, n), make([]uint64, n), n
	var mu sync.Mutex // guards left
	for i := range reqs {
		reqs[i], ids[i] = t.request(t.list(i))
	}
	t.Sender.SendMany(reqs, redis.FuncFuture(func(res any, i uint64) {
		t.Ledger.Resolve(res, ids[i])
		mu.Lock()
		left--
		last := left == 0
		mu.Unlock()
		if last {
			t.free(res)
		}
	}), 0)
}

// sendTransaction sends two writes of the execution log between MULTI and EXEC.
func (t *token) sendTransaction() {
	reqs, ids := make([]redis.Request, 2), make([]uint64, 2)
	for i := range reqs {
		reqs[i], ids[i] = t.Log.Issue(t.list(0))
	}
	t.Sender.SendTransaction(reqs, redis.FuncFuture(func(res any, _ uint64) {
		results, err := redis.TransactionResponse(res)
		for i, id := range ids {
			switch {
			case err != nil:
				t.Ledger.Resolve(err, id)
			case len(results) != len(ids):
				t.Ledger.Resolve(fmt.Sprintf("EXEC answered %d results", len(results)), id)
			default:
				t.Ledger.Resolve(results[i], id)
			}
		}
		t.free(res)
	}), 0)
}

// key returns a key of the worker. In a cluster all its keys are in one slot.
func (l *Load) key(worker int, kind string) string {
	return fmt.Sprintf("{%s-%d}%s", l.Name, worker, kind)
}

func (w *worker) key(kind string) string { return w.Load.key(w.num, kind) }

// request returns a random request. A write for the execution log goes to list.
func (w *worker) request(list string) (redis.Request, uint64) {
	switch w.rnd.Intn(6) {
	case 0:
		return w.Log.Issue(list)
	case 1:
		return w.Counter.Issue()
	case 2:
		key := w.key(fmt.Sprint(w.rnd.Intn(8)))
		id := w.Ledger.IssueTagged(func(string) oracle.Check { return oracle.IsStatus("OK") })
		return redis.Req("SET", key, oracle.NewValue(w.Ledger.Tag(id), key, w.size())), id
	case 3, 4:
		key := w.key(fmt.Sprint(w.rnd.Intn(8)))
		return redis.Req("GET", key), w.Ledger.Issue(oracle.IsValueOf(key))
	default:
		id := w.Ledger.IssueTagged(oracle.IsBulk)
		return redis.Req("ECHO", w.Ledger.Tag(id)), id
	}
}

// size returns a random size of a value. Each power of two is equally likely.
func (w *worker) size() int {
	least, most := max(w.MinValue, 64), max(w.MaxValue, 256)
	size := least
	for size < most && w.rnd.Intn(2) == 0 {
		size *= 2
	}
	return min(size+w.rnd.Intn(size), most)
}
