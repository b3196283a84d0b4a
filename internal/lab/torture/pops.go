package torture

import (
	"context"
	"fmt"
	"math/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
)

// Pops makes blocking pops whose contexts end at random, and pushes that run at the same time.
// Queue judges them.
type Pops struct {
	// Sender is the client under test.
	Sender redis.Sender
	// Ledger and Queue judge the results.
	Ledger *oracle.Ledger
	Queue  *oracle.Queue
	// Name is the beginning of all keys.
	Name string
	// Seed is the seed of the goroutines' random choices.
	Seed int64
	// Lists is the number of lists; Poppers and Pushers are the numbers of goroutines per list.
	Lists, Poppers, Pushers int
	// Patience is the longest life of a pop's context. Default 10 ms, which is long enough to make
	// a connection even under the race detector.
	Patience time.Duration

	// Cancelled counts the pops whose contexts ended before they were answered. Delivered counts
	// those that got an element, Late those among them whose contexts had ended, and Unknown those
	// with an unknown outcome.
	Cancelled, Delivered, Late, Unknown atomic.Int64
}

const (
	// If a list has enoughLeft elements, its pushers wait for its poppers.
	enoughLeft = 16
	// pushTimeout bounds a push.
	pushTimeout = 100 * time.Millisecond
)

// Run runs the goroutines until ctx ends or, if cancels is not 0, until that number of pops were
// cancelled. It returns when all goroutines have their last answers.
func (p *Pops) Run(ctx context.Context, cancels int64) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	for l := range p.Lists {
		race := make([]atomic.Pointer[context.CancelFunc], p.Poppers)
		for i := range p.Poppers {
			wg.Go(func() {
				popper{Pops: p, key: p.key(l), num: i, rnd: p.random(l, i), cancel: &race[i]}.run(ctx)
			})
		}
		for i := range p.Pushers {
			wg.Go(func() { p.push(ctx, l, i, race) })
		}
	}
	for ctx.Err() == nil && (cancels == 0 || p.Cancelled.Load() < cancels) {
		time.Sleep(time.Millisecond)
	}
	stop()
	wg.Wait()
}

// key returns the key of a list. It is in the same slot as the keys of the Load worker with that
// number.
func (p *Pops) key(list int) string { return fmt.Sprintf("{%s-%d}queue", p.Name, list) }

func (p *Pops) random(list, i int) *rand.Rand {
	return rand.New(rand.NewSource(p.Seed*6007 + int64(list)*1009 + int64(i)))
}

// push pushes elements until ctx ends. With every second push it also ends the context of a popper.
func (p *Pops) push(ctx context.Context, list, num int, race []atomic.Pointer[context.CancelFunc]) {
	rnd := p.random(list, ^num)
	for ctx.Err() == nil {
		req, id := p.Queue.Push(p.key(list), num)
		one, cancel := context.WithTimeout(context.WithoutCancel(ctx), pushTimeout)
		pushed := make(chan any, 1)
		go func() { pushed <- redis.SyncCtx{S: p.Sender}.Send(one, req) }()
		if victim := race[rnd.Intn(len(race))].Load(); victim != nil && rnd.Intn(2) == 0 {
			(*victim)()
		}
		res := <-pushed
		cancel()
		p.Ledger.Resolve(res, id)
		if n, ok := res.(int64); !ok || n >= enoughLeft {
			time.Sleep(refusedPause)
		}
	}
}

// popper is a goroutine that pops.
type popper struct {
	*Pops
	key    string
	num    int
	rnd    *rand.Rand
	cancel *atomic.Pointer[context.CancelFunc] // cancels the running pop
}

func (p popper) run(ctx context.Context) {
	patience := p.Patience
	if patience == 0 {
		patience = 10 * time.Millisecond
	}
	for ctx.Err() == nil {
		// The context is not a child of ctx: the end of ctx stops the load, but not requests in
		// flight.
		one, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(p.rnd.Int63n(int64(patience))))
		p.cancel.Store(&cancel)
		pop := p.Queue.Pop(p.key, p.num)
		res := p.pop(one)
		switch ended := one.Err() != nil; {
		case redis.AsError(res) != nil:
			if ended {
				p.Cancelled.Add(1)
			}
		case res != nil:
			p.Delivered.Add(1)
			if ended {
				p.Late.Add(1)
			}
		}
		cancel()
		pop.Resolve(res)
		switch outcome, _ := oracle.Classify(res); outcome {
		case oracle.NotSent:
			time.Sleep(time.Duration(p.rnd.Intn(100)) * time.Microsecond)
		case oracle.Unknown:
			p.Unknown.Add(1)
		}
	}
}

// pop pops an element in one of several ways, and returns the reply in the form of BLPOP.
func (p popper) pop(ctx context.Context) (res any) {
	client := redis.SyncCtx{S: p.Sender}
	switch way := p.rnd.Intn(32); {
	case way == 0:
		for {
			err := redis.WithSession(ctx, p.Sender, p.key, func(s *redis.Session) error {
				res = s.Do("BLPOP", p.key, 0)
				return redis.AsError(res)
			})
			if failure := redis.AsErrorx(err); failure == nil {
				return res
			} else if !failure.HasTrait(redis.ErrTraitClusterMove) { // a session does not follow redirects to another node
				return err
			}
		}
	case way < 8:
		return client.Do(ctx, "BLPOP", p.key, 0.001)
	case way < 16:
		var element []byte
		if err := client.DoInto(ctx, &element, "BLMOVE", p.key, p.key+":moved", "LEFT", "RIGHT", 0); err != nil {
			return err
		}
		return []any{[]byte(p.key), element}
	default:
		return client.Do(ctx, "BLPOP", p.key, 0)
	}
}
