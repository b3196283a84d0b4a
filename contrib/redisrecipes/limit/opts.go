package limit

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrOpts is returned by [New] for invalid options.
	ErrOpts = errors.New("limit: invalid options")
	// ErrTake: a take has no key, or its N is negative or greater than the burst. Nothing was sent.
	ErrTake = errors.New("limit: invalid take")

	errAnswer = errors.New("limit: unexpected reply from the server")
)

// Rate is how many requests may pass.
type Rate struct {
	// Count requests pass in each Per. Required, at most 1e9.
	Count int
	// Per is at least 100 ms and at most 366 days, and is rounded down to microseconds. Required.
	Per time.Duration
	// Burst is how many requests pass at once after a pause, at most 1e9. Default: Count.
	// It must come back within 366 days. With [Window] it must be Count or 0.
	Burst int
}

// Kind is a way to count.
type Kind uint8

const (
	// Smooth is the generic cell rate algorithm, GCRA: up to Burst requests pass at once, and then one
	// every Per/Count. So within any Per at most Burst + Count pass. Each key takes one short string on the
	// server.
	Smooth Kind = iota
	// Window is a sliding window: at most Count requests pass within any Per. It counts in steps of 1/128 of
	// Per. A request counts for up to one step longer than Per, so a steady load passes at a rate that is up
	// to 1 % below Count/Per. Each key takes a list of up to 129 counts on the server.
	Window
)

// Unavailable says how to decide if the server does not.
type Unavailable uint8

const (
	// Deny refuses all requests.
	Deny Unavailable = iota
	// Allow lets all requests pass.
	Allow
	// Local counts in the memory of the process, always as [Smooth] does, and starts with a full burst. It has
	// room for 65,536 keys. It refuses requests of further keys until some of the keys have their
	// whole burst again. It also refuses each take that is larger than the process's part of the burst.
	Local
)

// Opts are the options of a [Limiter].
type Opts struct {
	// Rate is the limit of each key. Required.
	Rate Rate
	// Prefix is put before each key. Limiters with different rates or kinds need different
	// prefixes. Default "limit:".
	Prefix string
	// Kind is the way to count. Default Smooth.
	Kind Kind
	// OnUnavailable decides when the server does not. Default Deny.
	OnUnavailable Unavailable
	// Processes is the number of processes that share the limit: with OnUnavailable: Local, each process
	// lets its share of Rate pass, with a burst of at least one. Default 1.
	Processes int
	// Batch makes busy keys cost fewer calls. With a call for a busy key the process takes up to Batch requests in advance. It
	// lets them pass without further calls for a 128th of Per, but at most for a second; requests that are unused by then are
	// lost. For the same time it refuses requests of a key for which the server has none left. The process takes no more
	// than it will need if the key stays as busy as it was, and at most an eighth of the requests that would pass. At most
	// 1e9. Default 0: the server decides about each take.
	Batch int
	// Timeout is how long a decision waits for the server. Default 250 ms.
	Timeout time.Duration
}

const (
	most     = 1_000_000_000 // a double counts it in steps of 1e-7
	shortest = 100 * time.Millisecond
	longest  = 366 * 24 * time.Hour
)

// withDefaults returns the options with their defaults.
func (o Opts) withDefaults() (Opts, error) {
	if o.Prefix == "" {
		o.Prefix = "limit:"
	}
	if o.Rate.Burst == 0 {
		o.Rate.Burst = o.Rate.Count
	}
	if o.Timeout == 0 {
		o.Timeout = 250 * time.Millisecond
	}
	if o.Processes == 0 {
		o.Processes = 1
	}
	switch r := o.Rate; {
	case r.Count < 1 || r.Count > most:
		return o, fmt.Errorf("%w: Rate.Count is %d", ErrOpts, r.Count)
	case r.Per < shortest || r.Per > longest:
		return o, fmt.Errorf("%w: Rate.Per is %v", ErrOpts, r.Per)
	case r.Burst < 1 || r.Burst > most || o.Kind == Window && r.Burst != r.Count,
		float64(r.Burst)/float64(r.Count)*float64(r.Per) > float64(longest):
		return o, fmt.Errorf("%w: Rate.Burst is %d", ErrOpts, r.Burst)
	case o.Kind > Window:
		return o, fmt.Errorf("%w: Kind is %d", ErrOpts, o.Kind)
	case o.OnUnavailable > Local:
		return o, fmt.Errorf("%w: OnUnavailable is %d", ErrOpts, o.OnUnavailable)
	case o.Processes < 1:
		return o, fmt.Errorf("%w: Processes is %d", ErrOpts, o.Processes)
	case o.Batch < 0 || o.Batch > most:
		return o, fmt.Errorf("%w: Batch is %d", ErrOpts, o.Batch)
	case o.Timeout < 0:
		return o, fmt.Errorf("%w: Timeout is %v", ErrOpts, o.Timeout)
	}
	return o, nil
}

// check returns an error if a take never passes.
func (o Opts) check(take Take) error {
	switch {
	case take.Key == "":
		return fmt.Errorf("%w: it has no key", ErrTake)
	case take.N < 0 || take.N > o.Rate.Burst:
		return fmt.Errorf("%w: N is %d, and the burst is %d", ErrTake, take.N, o.Rate.Burst)
	}
	return nil
}
