package h2h

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/joomcode/redispipe/internal/lab/torture"
)

// scenario is a fault, or a family of faults.
type scenario struct {
	id, text string
	// columns are the keys of finding.Values that the table shows, in order.
	columns []string
	// sentinel is set if only clients that ask sentinels for their master take part.
	sentinel bool
	// oursOnly is set if no other client has the API.
	oursOnly bool
	// lasts is how many times Config.Duration the scenario takes. 0 means once.
	lasts int
	// stage prepares the part of the parent process for one client.
	stage func() (*stage, error)
	// act runs in the child process. It may leave subjects and their goroutines behind, because the
	// process ends.
	act func(*act) error
}

// scenarios returns all scenarios, in the order of the report.
func scenarios() []scenario {
	list := []scenario{resetAfterExecution, frozen, trickling}
	list = append(list, poisoned()...)
	list = append(list, closeInFlight, closeFullQueue, callback)
	return append(list, failovers()...)
}

// duration is how long the scenario takes.
func (s scenario) duration(c Config) time.Duration {
	return time.Duration(max(s.lasts, 1)) * c.Duration
}

// stage is the parent's part of a scenario, for one client.
type stage struct {
	// The client dials addr. direct is the address of the real server, behind any proxy.
	addr, direct string
	// sentinels are the addresses for clients that ask sentinels.
	sentinels []string
	// fault, if not nil, runs once when the child has reported that it is ready.
	fault func(done <-chan struct{})
	// score, if not nil, completes the finding when the child has ended.
	score func(*finding)
	close func()
}

// finding is the result of a child.
type finding struct {
	Values map[string]string
	// Refused has the requests that ended with an error.
	Refused []refusal
	// Issued is how many requests each caller has issued. Gaps are the times without a successful
	// request.
	Issued []int
	Gaps   []torture.Gap
}

// refusal is a failed request. It reports whether the error promises that the request was not sent.
type refusal struct {
	ID      string
	NotSent bool
}

// job is the input of a child, on its standard input.
type job struct {
	Scenario, Subject string
	Target            target
	Direct            string
	Duration          time.Duration
}

// event is a line of a child's standard output.
type event struct {
	Ready   bool     `json:",omitempty"`
	Finding *finding `json:",omitempty"`
}

// act is the child's side of a job.
type act struct {
	job
	entry entry
	out   *json.Encoder
}

func (a *act) open() (Subject, error) { return a.entry.open(a.Target) }

// ready tells the parent to begin its fault.
func (a *act) ready() error { return a.out.Encode(event{Ready: true}) }

func (a *act) found(f finding) error { return a.out.Encode(event{Finding: &f}) }

// promised reports whether an error promises that nothing was sent.
func (a *act) promised(err error) bool { return a.entry.notSent != nil && a.entry.notSent(err) }

const (
	// openTimeout bounds the first connection.
	openTimeout = 5 * time.Second
	// patience is how long something may take to end before it counts as hung.
	patience = 5 * time.Second
)

// RunChild is the main function of a child process.
func RunChild(in io.Reader, out io.Writer) error {
	a := &act{out: json.NewEncoder(out)}
	if err := json.NewDecoder(in).Decode(&a.job); err != nil {
		return err
	}
	a.entry, _ = entryByName(a.Subject)
	for _, s := range scenarios() {
		if s.id == a.Scenario {
			return s.act(a)
		}
	}
	return nil
}

// within runs f and returns how long it took, or false if it still runs after d.
func within(d time.Duration, f func()) (time.Duration, bool) {
	begin := time.Now()
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	select {
	case <-done:
		return time.Since(begin), true
	case <-time.After(d):
		return d, false
	}
}

// deadline returns a context that ends after d.
func deadline(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}
