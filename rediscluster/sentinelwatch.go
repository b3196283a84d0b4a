package rediscluster

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
	"github.com/joomcode/redispipe/redisconn"
)

// sentinelEvents are the channels that the client subscribes to; after each event it asks the
// sentinel for the present state. A sentinel that leads a failover announces +promoted-slave long
// before +switch-master, which waits until the other replicas follow.
var sentinelEvents = []any{
	"+switch-master", "+promoted-slave", "+config-update-from", "+new-epoch", "+failover-end",
	"+reset-master", "+monitor", "-monitor", "+set",
	"+slave", "+fix-slave-config", "+convert-to-slave", "+slave-reconf-done", "+role-change", "-role-change", "+reboot",
	"+sdown", "-sdown", "+odown", "-odown", "+tilt", "-tilt", "+sentinel", "+sentinel-address-switch",
}

const (
	// askPause is the least pause between two questions, so that many events at once cause few
	// questions. The client may notice a failover later by this pause.
	askPause = 5 * time.Millisecond
	// listenPause is the approximate pause before subscribing again.
	listenPause = 200 * time.Millisecond
)

// sentinel is a sentinel that the client watches.
type sentinel struct {
	s    *sentinels
	addr string
	ctx  context.Context
	stop context.CancelFunc
	due  chan struct{} // has room for one: it is only a flag
	// A turn ends with the answer to the first question that was asked after the turn began, or
	// with the watch.
	turns *lifetime.Turns
}

// startSentinel starts to watch a sentinel. The watch ends with stop or with the cluster.
func startSentinel(s *sentinels, addr string) *sentinel {
	w := &sentinel{s: s, addr: addr, due: make(chan struct{}, 1)}
	w.ctx, w.stop = context.WithCancel(s.c.ctx)
	w.turns = lifetime.NewTurns(w.ctx)
	go w.run()
	return w
}

// askSoon makes run ask the sentinel soon.
func (w *sentinel) askSoon() { lifetime.Wake(w.due) }

// run is the goroutine that asks the sentinel, when askSoon was called and every CheckInterval. It
// ends with the watch. It starts the goroutine listen.
func (w *sentinel) run() {
	defer w.s.c.recovered()
	conn, err := redisconn.Connect(w.ctx, w.addr, w.s.opts)
	if err == nil { // Connect fails only for a malformed address
		go w.listen(conn)
	}
	for w.ctx.Err() == nil {
		w.ask(conn, err)
		_, _ = lifetime.Pause(w.ctx, askPause, nil)
		_, _ = lifetime.Pause(w.ctx, w.s.c.opts.CheckInterval, w.due)
	}
}

// ask asks the sentinel once, and up to twice more if the answer is inconsistent. refused is the error
// of Connect: if it is not nil, there is no connection, and ask records the error as the answer.
func (w *sentinel) ask(conn *redisconn.Connection, refused error) {
	defer w.turns.Next()()
	report, failure := topology.Report{}, redis.AsErrorx(refused)
	for tries := 3; refused == nil && tries > 0; tries-- {
		report, failure = topology.ParseReport(redis.SyncCtx{S: conn}.SendMany(w.ctx, topology.SentinelQuestions(w.s.name)))
		if failure != topology.ErrMasterChanged {
			break
		}
	}
	w.s.hear(w, report, failure)
}

// listen is a goroutine that subscribes, again and again, until the watch ends.
func (w *sentinel) listen(conn *redisconn.Connection) {
	defer w.s.c.recovered()
	for w.ctx.Err() == nil {
		w.listenOnce(conn)
		w.askSoon()
		_, _ = lifetime.Pause(w.ctx, lifetime.Jitter(listenPause), nil)
	}
}

// listenOnce subscribes, and calls askSoon when the sentinel has confirmed and after each event,
// until the socket ends. It drops errors: if the sentinel is unreachable, the next question
// also fails.
func (w *sentinel) listenOnce(conn *redisconn.Connection) {
	sock, err := conn.OpenPush(w.ctx)
	if err != nil {
		return
	}
	defer sock.Close()
	if sock.Send(redis.Req("SUBSCRIBE", sentinelEvents...)) != nil {
		return
	}
	for push := new(redis.Push); ; w.askSoon() {
		if _, pushed, err := sock.Receive(push); err != nil || !pushed { // the only possible reply is an error: SUBSCRIBE was refused
			return
		}
	}
}
