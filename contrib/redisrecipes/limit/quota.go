package limit

import (
	"sync"
	"time"
)

// With Opts.Batch, a call of the script for a busy key takes a quota: requests in advance, which the process lets pass
// without further calls. The quota is a little smaller than the process will need if the key stays as busy as it was,
// so little of it is lost.

const (
	// A quota lasts for 1/quotaLife of Per, but at most for quotaMost. So a request counts up to 1 % of Per too early, as
	// with the steps of a Window.
	quotaLife = 128
	quotaMost = time.Second
	// quotaKeys bounds the keys in the memory of a process: some 10 MB.
	quotaKeys = 65536
)

// quotas holds the quotas of a process, by key. It is safe for concurrent use.
type quotas struct {
	batch int
	life  time.Duration

	mu    sync.Mutex // guards the fields below
	byKey map[string]*quota
	swept time.Time // when roomLocked last removed keys
}

// quota is what a process knows about a key: the requests that it has taken in advance, and whether the server has
// refused the key.
type quota struct {
	asked time.Time // when the last call was sent
	next  int       // how many requests the next call takes in advance

	granted, left int       // how many requests were taken in advance, and how many of them are left
	until         time.Time // when the quota ends, and the requests in left are lost
	remaining     int       // Decision.Remaining: the server's number, less the requests that the process has let pass
	reset         time.Time // when the whole burst passes

	refused time.Time // until then the process refuses requests without a call, because the server has none left
	retry   time.Time // when the next request passes
}

func newQuotas(opts Opts) *quotas {
	return &quotas{batch: opts.Batch, life: min(opts.Rate.Per/quotaLife, quotaMost), byKey: map[string]*quota{}}
}

// take decides about a take. It returns false if the server must decide.
func (q *quotas) take(take Take) (d Decision, decided bool) {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.byKey[take.Key]
	switch {
	case of == nil || take.N == 0:
		return Decision{}, false
	case now.Before(of.until) && take.N <= of.left:
		of.left -= take.N
		of.remaining -= take.N
		return Decision{Allowed: true, Remaining: of.remaining, ResetAfter: max(0, of.reset.Sub(now))}, true
	case now.Before(of.refused) && take.N == 1:
		return Decision{RetryAfter: of.retry.Sub(now), ResetAfter: max(0, of.reset.Sub(now))}, true
	}
	return Decision{}, false
}

// ask returns how many requests a call that is sent now takes in advance.
func (q *quotas) ask(key string) (sent time.Time, ahead int) {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.byKey[key]
	switch {
	case of == nil && !q.roomLocked(now):
		return now, 0
	case of == nil:
		of = &quota{}
		q.byKey[key] = of
	case now.Sub(of.asked) > 2*q.life:
		of.next = 0 // the key is not busy
	case of.left == 0:
		need := float64(of.granted+1) * float64(q.life) / float64(max(1, now.Sub(of.asked)))
		of.next = int(min(float64(max(1, 2*of.next)), float64(q.batch), 7*need/8))
	case !now.Before(of.until):
		of.next = of.granted - of.left // as many as were used: the others were lost
	}
	of.asked = now
	return now, of.next
}

// answered records the answer to a call: how many requests it has taken in advance (granted), and the decision about its
// last take, which was for n requests.
func (q *quotas) answered(key string, sent time.Time, granted, n int, last Decision) {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.byKey[key]
	if of == nil {
		return
	}
	if end := sent.Add(q.life); of.left == 0 || !time.Now().Before(of.until) {
		of.granted, of.left, of.until = 0, 0, end
	} else if end.Before(of.until) { // answers of two calls may come in any order
		of.until = end
	}
	of.remaining, of.reset = last.Remaining+of.left, sent.Add(last.ResetAfter)
	of.granted, of.left = of.granted+granted, of.left+granted
	if n == 1 && !last.Allowed && last.Remaining == 0 {
		of.retry = sent.Add(last.RetryAfter)
		of.refused = sent.Add(min(last.RetryAfter, q.life))
	}
}

// roomLocked reports whether there is room for another key. If there is none, it first removes the keys that are not busy.
func (q *quotas) roomLocked(now time.Time) bool {
	if len(q.byKey) < quotaKeys {
		return true
	}
	if now.Sub(q.swept) < q.life { // a sweep visits all keys
		return false
	}
	q.swept = now
	for key, of := range q.byKey {
		if now.Sub(of.asked) > 2*q.life {
			delete(q.byKey, key)
		}
	}
	return len(q.byKey) < quotaKeys
}
