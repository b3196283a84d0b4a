package torture

import (
	"time"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
)

// Witnesses record what happened to the requests of a client: the client's results, and what the
// servers executed.
type Witnesses struct {
	// Name is the beginning of all keys and tags.
	Name    string
	Ledger  *oracle.Ledger
	Log     *oracle.ExecLog
	Counter *oracle.Counter
	Queue   *oracle.Queue

	seed    int64
	counter string
}

// NewLedger begins a new ledger, with its own log and counter. name must be unique among the
// ledgers of the same servers.
func (w *Witnesses) NewLedger(name string) {
	w.Name, w.counter = name, "counter:"+name
	w.Ledger = oracle.NewLedger(name)
	w.Log = oracle.NewExecLog(w.Ledger)
	w.Counter = oracle.NewCounter(w.Ledger, w.counter)
	w.Queue = oracle.NewQueue(w.Ledger)
}

// AllowLoss allows the servers to lose acknowledged writes, as some faults make them do.
func (w *Witnesses) AllowLoss() { w.Log.Lossy, w.Counter.Lossy, w.Queue.Lossy = true, true, true }

// load returns a load on a client.
func (w *Witnesses) load(client redis.Sender, workers, requests int) *Load {
	return &Load{
		Sender: client, Ledger: w.Ledger, Log: w.Log, Counter: w.Counter,
		Name: w.Name, Seed: w.seed, Workers: workers, Requests: requests,
	}
}

// pops returns blocking pops on a client. Each of the lists has the given number of poppers and pushers.
func (w *Witnesses) pops(client redis.Sender, lists, poppers, pushers int) *Pops {
	return &Pops{
		Sender: client, Ledger: w.Ledger, Queue: w.Queue, Name: w.Name, Seed: w.seed,
		Lists: lists, Poppers: poppers, Pushers: pushers,
	}
}

// soakPops returns the pops that run together with a load.
func (w *Witnesses) soakPops(client redis.Sender) *Pops {
	return w.pops(client, 2, soakPoppers/2, 1)
}

// soakPoppers is the number of goroutines of a soak that pop, and so the number of dedicated
// connections to a server that may be idle after a round.
const soakPoppers = 8

// verify waits for all requests, for up to within, and compares the results with what the servers
// executed. do sends requests to the servers without the client under test.
func (w *Witnesses) verify(do func(cmd string, args ...any) any, within time.Duration) (*oracle.Report, error) {
	report := w.Ledger.Finish(within)
	if err := w.Log.Verify(readList(do)); err != nil {
		return report, err
	}
	if err := w.Queue.Verify(readList(do)); err != nil {
		return report, err
	}
	value, err := readCounter(do, w.counter)
	if err != nil {
		return report, err
	}
	w.Counter.Verify(value)
	return report, nil
}
