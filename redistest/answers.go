package redistest

import (
	"sync"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// answers resolves requests in order, like the reader of a connection.
type answers struct {
	closed chan struct{} // closed by Mock.Close
	// lost is set when Close has ended a pending answer. Then all later answers are lost, too. Only
	// work uses it.
	lost bool

	mu      sync.Mutex // guards the fields below
	waiting []answer
	working bool
}

type answer struct {
	outcome
	refused bool // the request was refused and not sent
	got     sent
	cb      redis.Future
	n       uint64
}

// add queues an answer. It may start a goroutine, which owns the futures of the queue and ends when
// the queue is empty.
func (q *answers) add(a answer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, a)
	if !q.working {
		q.working = true
		go q.work()
	}
}

func (q *answers) work() {
	ended := false
	defer func() {
		if !ended { // a user's function has ended the goroutine
			go q.work()
		}
	}()
	for {
		q.mu.Lock()
		if len(q.waiting) == 0 {
			ended, q.working = true, false
			q.mu.Unlock()
			return
		}
		a := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.mu.Unlock()
		q.give(a)
	}
}

// give resolves the future of an answer, even if the function that computes the answer ends the
// goroutine, as t.FailNow does.
func (q *answers) give(a answer) {
	res := any(ErrUnexpected.New("the function that computes the answer has ended its goroutine"))
	defer func() {
		if a.cb != nil {
			a.cb.Resolve(res, a.n)
		}
	}()
	res = q.result(a)
}

// result waits for the delay of an answer, or until Close, and returns the result.
func (q *answers) result(a answer) any {
	if !q.lost && (a.after > 0 || a.silent) {
		var due <-chan time.Time
		if !a.silent {
			timer := time.NewTimer(a.after)
			defer timer.Stop()
			due = timer.C
		}
		select {
		case <-due:
		case <-q.closed:
			q.lost = true
		}
	}
	if q.lost && !a.refused {
		return redis.ErrIO.New("the mock was closed before its answer")
	}
	return a.reply(a.got)
}
