package torture

import (
	"time"

	"github.com/joomcode/redispipe/internal/oracle"
	"github.com/joomcode/redispipe/redis"
)

// Witnesses tell what became of the requests of a client: what it reported,
// and what its servers executed.
type Witnesses struct {
	// Name begins all keys and tags.
	Name    string
	Ledger  *oracle.Ledger
	Log     *oracle.ExecLog
	Counter *oracle.Counter

	seed    int64
	counter string
}

// NewLedger begins a new ledger, with its own log and counter. The name is one
// that no other ledger of the same servers has.
func (w *Witnesses) NewLedger(name string) {
	w.Name, w.counter = name, "counter:"+name
	w.Ledger = oracle.NewLedger(name)
	w.Log = oracle.NewExecLog(w.Ledger)
	w.Counter = oracle.NewCounter(w.Ledger, w.counter)
}

// load returns a load on a client.
func (w *Witnesses) load(client redis.Sender, workers, requests int) *Load {
	return &Load{
		Sender: client, Ledger: w.Ledger, Log: w.Log, Counter: w.Counter,
		Name: w.Name, Seed: w.seed, Workers: workers, Requests: requests,
	}
}

// verify waits for all requests, at most so long, and compares with what the
// servers executed. do asks them past the client.
func (w *Witnesses) verify(do func(cmd string, args ...any) any, within time.Duration) (*oracle.Report, error) {
	report := w.Ledger.Finish(within)
	if err := w.Log.Verify(readList(do)); err != nil {
		return report, err
	}
	value, err := readCounter(do, w.counter)
	if err != nil {
		return report, err
	}
	w.Counter.Verify(value)
	return report, nil
}
