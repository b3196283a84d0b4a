package torture

import (
	"context"
	"fmt"
	"math/rand"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/oracle"
	"github.com/joomcode/redispipe/redis"
)

// Load is a mix of requests whose results the oracle can judge: ECHO, SET and
// GET of values that say whose they are, RPUSH to the execution log, INCR of a
// counter, batches and transactions.
type Load struct {
	// Sender is the client under test.
	Sender redis.Sender
	// Ledger, Log and Counter judge the results.
	Ledger  *oracle.Ledger
	Log     *oracle.ExecLog
	Counter *oracle.Counter
	// Name begins all keys.
	Name string
	// Seed of the workers' choices.
	Seed int64
	// Workers is the number of goroutines, Requests how many each sends;
	// 0 means until the context ends.
	Workers, Requests int
	// MinValue and MaxValue are the sizes of values. Default 64 to 256 bytes.
	MinValue, MaxValue int
	// Window is how many requests a worker has in flight. Default 1.
	Window int
	// Timeout, if set, has each request sent by SyncCtx with that deadline,
	// one at a time.
	Timeout time.Duration
	// Pause is how long a worker rests after each request.
	Pause time.Duration
	// Calm leaves out what is not a single request of a single reply.
	Calm bool
}

// refusedPause keeps workers from spinning while everything is refused.
const refusedPause = time.Millisecond

// Run runs the workers, and returns when they have sent everything; what is in
// flight then is for Ledger.Finish to wait for.
func (l *Load) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for w := range l.Workers {
		wg.Go(func() { l.newWorker(w).run(ctx) })
	}
	wg.Wait()
}

// worker is one goroutine of a Load. Its tokens bound what it has in flight.
type worker struct {
	*Load
	num    int
	rnd    *rand.Rand
	tokens chan struct{}
}

func (l *Load) newWorker(num int) *worker {
	window := max(l.Window, 1)
	w := &worker{
		Load: l, num: num,
		rnd:    rand.New(rand.NewSource(l.Seed*7919 + int64(num))),
		tokens: make(chan struct{}, window),
	}
	for range window {
		w.tokens <- struct{}{}
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
			case <-w.tokens:
				w.send()
			case <-ctx.Done():
				return
			}
		}
		if w.Pause > 0 {
			time.Sleep(w.Pause)
		}
	}
}

// Resolve implements redis.Future for one request.
func (w *worker) Resolve(res any, id uint64) {
	w.Ledger.Resolve(res, id)
	w.free(res)
}

// Cancelled implements redis.Future.
func (w *worker) Cancelled() error { return nil }

// free lets the worker send the next request, after a rest if this one was
// refused.
func (w *worker) free(res any) {
	put := func() {
		select {
		case w.tokens <- struct{}{}:
		default: // a request resolved twice; the ledger tells
		}
	}
	if outcome, _ := oracle.Classify(res); outcome == oracle.NotSent {
		time.AfterFunc(refusedPause, put)
		return
	}
	put()
}

// call sends one request with a deadline.
func (w *worker) call(ctx context.Context) {
	req, id := w.request()
	// Not ctx: its end stops the load, and leaves in peace what is under way.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.Timeout)
	defer cancel()
	res := redis.SyncCtx{S: w.Sender}.Send(ctx, req)
	w.Ledger.Resolve(res, id)
	if outcome, _ := oracle.Classify(res); outcome == oracle.NotSent {
		time.Sleep(refusedPause)
	}
}

// send sends one request, a batch or a transaction.
func (w *worker) send() {
	kind := w.rnd.Intn(20)
	if w.Calm {
		kind = 2
	}
	switch kind {
	case 0:
		w.sendMany()
	case 1:
		w.sendTransaction()
	default:
		req, id := w.request()
		w.Sender.Send(req, w, id)
	}
}

func (w *worker) sendMany() {
	n := 1 + w.rnd.Intn(5)
	reqs, ids, left := make([]redis.Request, n), make([]uint64, n), n
	var mu sync.Mutex // guards left
	for i := range reqs {
		reqs[i], ids[i] = w.request()
	}
	w.Sender.SendMany(reqs, redis.FuncFuture(func(res any, i uint64) {
		w.Ledger.Resolve(res, ids[i])
		mu.Lock()
		left--
		last := left == 0
		mu.Unlock()
		if last {
			w.free(res)
		}
	}), 0)
}

// sendTransaction sends two writes of the execution log between MULTI and EXEC.
func (w *worker) sendTransaction() {
	reqs, ids := make([]redis.Request, 2), make([]uint64, 2)
	for i := range reqs {
		reqs[i], ids[i] = w.Log.Issue(w.key("log"))
	}
	w.Sender.SendTransaction(reqs, redis.FuncFuture(func(res any, _ uint64) {
		results, err := redis.TransactionResponse(res)
		for i, id := range ids {
			switch {
			case err != nil:
				w.Ledger.Resolve(err, id)
			case len(results) != len(ids):
				w.Ledger.Resolve(fmt.Sprintf("EXEC answered %d results", len(results)), id)
			default:
				w.Ledger.Resolve(results[i], id)
			}
		}
		w.free(res)
	}), 0)
}

// key is a key of this worker's own; all its keys are in one slot of a cluster.
func (w *worker) key(kind string) string {
	return fmt.Sprintf("{%s-%d}%s", w.Name, w.num, kind)
}

func (w *worker) request() (redis.Request, uint64) {
	switch w.rnd.Intn(6) {
	case 0:
		return w.Log.Issue(w.key("log"))
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

// size draws a value's size; each doubling of it is as likely.
func (w *worker) size() int {
	least, most := max(w.MinValue, 64), max(w.MaxValue, 256)
	size := least
	for size < most && w.rnd.Intn(2) == 0 {
		size *= 2
	}
	return min(size+w.rnd.Intn(size), most)
}
