package limit

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Takes of the same key that wait at the same time share a call of the script, so that many callers with one key
// need few calls. The script decides about the takes in order, as if each had its own call. A process reserves
// nothing for later, so no capacity is lost or granted twice.

// callsMost is how many calls for a key run at the same time; further takes wait. It is two, so that a few callers
// do not wait for each other.
const callsMost = 2

// takesMost bounds the takes of a call, because a server runs nothing else during a call. Further takes get a call
// each.
const takesMost = 512

// lines holds the keys with running calls. It is safe for concurrent use.
type lines struct {
	mu    sync.Mutex // guards the fields below, and the fields of each line and group
	byKey map[string]*line
}

// line is the state of the calls for a key.
type line struct {
	running int    // the number of running calls
	next    *group // the takes that wait until a call has ended; nil if there are none
}

// group holds takes that share a call.
type group struct {
	ctx    context.Context // has the values of the caller of the first take, and does not end
	key    string
	ns     []int // Take.N of each take, in order
	wanted int   // the number of takes whose callers still wait
	sent   bool

	done    chan struct{} // closed when the fields below are set
	answers []int64       // answerLen numbers for each take, and last the number of requests taken in advance
	err     error
}

// asked is a take in its group. If own is set, it is the only take of the group, and its caller sends the call.
type asked struct {
	group *group
	at    int
	own   bool
}

// enter adds a take to a group, and returns the group and the take's index in it. If own is set, the caller must
// send the call of the group, which has only this take, and then call leave.
func (l *lines) enter(ctx context.Context, take Take) (g *group, at int, own bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.byKey[take.Key]
	if of == nil {
		of = &line{}
		l.byKey[take.Key] = of
	}
	if of.running < callsMost || of.next != nil && len(of.next.ns) == takesMost {
		of.running++
		return &group{key: take.Key, ns: []int{take.N}, sent: true}, 0, true
	}
	if of.next == nil {
		of.next = &group{ctx: context.WithoutCancel(ctx), key: take.Key, done: make(chan struct{})}
	}
	g = of.next
	g.ns = append(g.ns, take.N)
	g.wanted++
	return g, len(g.ns) - 1, false
}

// leave records that a call for a key has ended. If takes wait, it returns their group, whose call the caller must
// send next.
func (l *lines) leave(key string) *group {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.byKey[key]
	g := of.next
	if of.next = nil; g != nil && g.wanted > 0 {
		g.sent = true
		return g
	}
	if of.running--; of.running == 0 {
		delete(l.byKey, key)
	}
	return nil
}

// wait returns the answer to a take. If ctx ends before its call is sent, nothing is taken.
func (l *lines) wait(ctx context.Context, a asked) ([]int64, error) {
	g := a.group
	if a.own {
		return g.answer(a.at)
	}
	select {
	case <-g.done:
		return g.answer(a.at)
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !g.sent {
		g.ns[a.at] = 0
		g.wanted--
		return nil, fmt.Errorf("limit: nothing was taken: %w", ctx.Err())
	}
	return nil, fmt.Errorf("limit: no answer, the server may have counted the take: %w", ctx.Err())
}

// takes reports whether the call takes anything. Otherwise it only reports the state, so it takes nothing in advance.
func (g *group) takes() bool { return slices.ContainsFunc(g.ns, func(n int) bool { return n > 0 }) }

// whole reports whether the answer to the call has all of its numbers.
func (g *group) whole() bool { return len(g.answers) == answerLen*len(g.ns)+1 }

// answer returns the answer to a take of a group whose call has ended.
func (g *group) answer(at int) ([]int64, error) {
	switch {
	case g.err != nil:
		return nil, g.err
	case !g.whole():
		return nil, errAnswer
	}
	return g.answers[answerLen*at:][:answerLen], nil
}
