package redis

import "github.com/joomcode/redispipe/internal/errs"

// nobody stands for a Sender that is nil, as in the zero value of [SyncCtx]. It sends nothing.
type nobody struct{}

// known returns s, or nobody if that is nil.
func known(s Sender) Sender {
	if s == nil {
		return nobody{}
	}
	return s
}

// Send implements Sender.
func (nobody) Send(_ Request, cb Future, n uint64) { resolve(cb, errs.NoSender(), n) }

// SendMany implements Sender.
func (nobody) SendMany(reqs []Request, cb Future, start uint64) {
	for i := range reqs {
		resolve(cb, errs.NoSender(), start+uint64(i))
	}
}

// SendTransaction implements Sender.
func (nobody) SendTransaction(_ []Request, cb Future, start uint64) {
	resolve(cb, errs.NoSender(), start)
}

// Scanner implements Sender.
func (n nobody) Scanner(ScanOpts) Scanner { return n }

// Next implements Scanner.
func (nobody) Next(cb Future) { resolve(cb, errs.NoSender(), 0) }

// EachShard implements Sender.
func (nobody) EachShard(f func(Sender, error) bool) { f(nil, errs.NoSender()) }

// Close implements Sender.
func (nobody) Close() {}
