package redis

import (
	"context"
	"log"
	"runtime/debug"
	"sync"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
)

// HotKeys finds the keys that get most of the traffic of a sender: see [WithHotKeys]. It is safe for concurrent
// use. The zero value has seen no traffic.
type HotKeys struct {
	counter *hotCounter
	onHot   func(HotKey)
	panics  sync.Once
}

// HotKeysOpts are the options of [WithHotKeys]. The zero value is fit for production.
type HotKeysOpts struct {
	// OnHot is called, in a goroutine of its own, when a key has reached a Share of the requests or
	// of the bytes. For the same key it is called again only after the key's share fell below half
	// of Share. Default: it is not called.
	OnHot func(HotKey)
	// Share is the share of the traffic from which a key is hot, more than 0 and at most 1. Other
	// values stand for the default: 0.1.
	Share float64
}

// HotKey is a key with an estimate of its traffic.
type HotKey struct {
	// Key is the key, or the first 1024 bytes of a longer one.
	Key string
	// Bytes tells what Share and Rate count: bytes if it is set, otherwise requests.
	Bytes bool
	// Share is the key's share of the traffic of all keys, between 0 and 1.
	Share float64
	// Rate is the number of requests with the key, or of their bytes, per second. In the first
	// second of counting it is too low.
	Rate float64
}

// WithHotKeys returns a Sender that sends through s, and a HotKeys that shows which keys get most
// of the Sender's requests, and most of the bytes of requests and replies. Use it to find out why
// one node of a cluster has more to do than others, or which keys are worth a cache.
//
// One of 64 requests is counted, in about a megabyte of memory, so rare keys are not found. After
// ten seconds a request counts half. A request with several keys counts for each of them, and its
// bytes are divided among them. Requests of batches, transactions, sessions and the senders that
// EachShard passes count. Requests of iterators, requests that were not sent, and reads that a
// cache answered from its memory do not.
//
// A key is hot only once 256 requests were counted, within about ten seconds: with fewer than a
// thousand requests a second OnHot is hardly called.
//
// The Sender keeps the retries and hooks of s. Each attempt of a retried request counts.
func WithHotKeys(s Sender, opts HotKeysOpts) (Sender, *HotKeys) {
	if !(opts.Share > 0 && opts.Share <= 1) {
		opts.Share = 0.1
	}
	k := &HotKeys{counter: newHotCounter(opts.Share), onHot: opts.OnHot}
	return inmost(known(s), k.watch), k
}

// Top returns the n keys with the most requests, in descending order.
func (k *HotKeys) Top(n int) []HotKey { return k.top(hotRequests, n) }

// TopBytes returns the n keys with the most bytes, in descending order.
func (k *HotKeys) TopBytes(n int) []HotKey { return k.top(hotBytes, n) }

func (k *HotKeys) top(unit hotUnit, n int) []HotKey {
	if k == nil || k.counter == nil {
		return nil
	}
	return k.counter.top(unit, n)
}

// watch returns a sender whose requests are counted.
func (k *HotKeys) watch(s Sender) Sender {
	own := &watched{layer{s, "redis.WithHotKeys"}, k}
	to := open(s)
	if to.backend == nil {
		return own
	}
	return remembering(&watchedBackend{own, to.backend}, to.memory)
}

// tell calls OnHot for keys that have become hot.
func (k *HotKeys) tell(hot []HotKey) {
	if k.onHot == nil {
		return
	}
	for _, key := range hot {
		// This goroutine runs the user's function, and ends with it.
		go func() {
			defer k.recovered()
			k.onHot(key)
		}()
	}
}

func (k *HotKeys) recovered() {
	if v := recover(); v != nil {
		k.panics.Do(func() { log.Printf("redispipe: OnHot panicked: %v\n%s", v, debug.Stack()) })
	}
}

// sampled is a request that counts when it is answered.
type sampled struct {
	keys  []string
	bytes int
}

func sampleOf(r *send.Request) (s sampled) {
	s.bytes = len(r.Buf)
	if at := command.Lookup(r.Cmd).OnlyKey(); at > 0 {
		if key := r.Arg(at); key != nil {
			s.keys = []string{string(key[:min(len(key), hotLongest)])}
		}
		return s
	}
	args := r.Args()
	for i := range command.Of(r.Cmd, args).Keys {
		s.add(r.KeyAt(args, i))
	}
	return s
}

// sampleOfPlain is sampleOf for a request that is not encoded.
func sampleOfPlain(req Request) (s sampled) {
	for _, key := range req.Keys() {
		s.add(key)
	}
	s.bytes = len("*1\r\n$1\r\n\r\n") + len(req.Cmd)
	for _, arg := range req.Args {
		word, _ := resp.ArgText(arg)
		s.bytes += len("$1\r\n\r\n") + len(word)
	}
	return s
}

func (s *sampled) add(key string) {
	s.keys = append(s.keys, key[:min(len(key), hotLongest)])
}

// answered counts a request whose reply has the given number of bytes.
func (k *HotKeys) answered(s sampled, res any, reply int) {
	if OutcomeOf(res) != OutcomeNotSent {
		k.tell(k.counter.count(s.keys, s.bytes+reply))
	}
}

// replyBytes returns about how many bytes a reply takes.
func replyBytes(res any) int {
	n := len("+\r\n")
	switch res := res.(type) {
	case []byte:
		n += len(res)
	case string:
		n += len(res)
	case []any:
		for _, el := range res {
			n += replyBytes(el)
		}
	case map[string]any:
		for name, el := range res {
			n += len(name) + replyBytes(el)
		}
	}
	return n
}

// watched is the Sender that WithHotKeys returns for a user's Sender.
type watched struct {
	layer
	by *HotKeys
}

// Send implements Sender.
func (w *watched) Send(req Request, cb Future, n uint64) {
	if firstSample() == 0 {
		cb = w.counting(sampleOfPlain(req), cb)
	}
	w.to.Send(req, cb, n)
}

// counting returns a future that counts a request.
func (w *watched) counting(s sampled, cb Future) Future {
	if len(s.keys) == 0 {
		return cb
	}
	return &countingFuture{countingPart: countingPart{send.Forward{To: cb}, w.by}, sampled: s}
}

// SendMany implements Sender.
func (w *watched) SendMany(reqs []Request, cb Future, start uint64) {
	if some := samplesOf(reqs); some.of != nil {
		many := &countingMany{countingPart{send.Forward{To: cb}, w.by}, some, start}
		if cb = many; isNamer(many.To) {
			cb = namingMany{many}
		}
	}
	w.to.SendMany(reqs, cb, start)
}

// SendTransaction implements Sender.
func (w *watched) SendTransaction(reqs []Request, cb Future, start uint64) {
	if some := samplesOf(reqs); some.of != nil {
		cb = &countingTransaction{countingPart{send.Forward{To: cb}, w.by}, some}
	}
	w.to.SendTransaction(reqs, cb, start)
}

// EachShard implements Sender.
func (w *watched) EachShard(f func(Sender, error) bool) { eachShard(w.to, w.by.watch, f) }

// watchedBackend is the Sender that WithHotKeys returns for a Sender of this module.
type watchedBackend struct {
	*watched
	backend send.Backend[Future] // the backend of to
}

// SendEncoded implements send.Backend.
func (w *watchedBackend) SendEncoded(r *send.Request, cb Future, n uint64) {
	if firstSample() == 0 {
		if cb = w.counting(sampleOf(r), cb); cb != nil {
			r.Observed = r.Observed || send.Observes(cb)
		}
	}
	w.backend.SendEncoded(r, cb, n)
}

// WantsSlot implements send.Backend.
func (w *watchedBackend) WantsSlot() bool { return w.backend.WantsSlot() }

// OpenDedicated implements send.Backend.
func (w *watchedBackend) OpenDedicated(ctx context.Context, keys []string, last error) (send.Dedicated, error) {
	d, err := w.backend.OpenDedicated(ctx, keys, last)
	if err != nil {
		return nil, err
	}
	return watchedDedicated{d, w.by}, nil
}

var _ send.Backend[Future] = (*watchedBackend)(nil)
