package engine

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// modelCaller is a caller that waits for one request.
type modelCaller struct {
	seq      uint64
	reads    bool // has the right to read, up to request last
	last     uint64
	gone     bool
	resolved bool
}

func (c *modelCaller) Caller() send.Caller { return c }
func (c *modelCaller) Listen() bool        { return false }
func (c *modelCaller) Waits() bool         { return true }
func (c *modelCaller) Touch() int          { return 0 }
func (c *modelCaller) Resolve(any, uint64) { c.resolved = true }
func (c *modelCaller) Cancelled() error    { return nil }
func (c *modelCaller) GiveRead(r send.ReadRight) bool {
	if c.gone || c.resolved || c.reads {
		return false
	}
	c.reads, c.last = true, r.Last
	return true
}

// modelFuture is a user's future. While its Cancelled method runs, the model takes other steps.
type modelFuture struct {
	m        *rightsModel
	resolved bool
}

func (f *modelFuture) Resolve(any, uint64) { f.resolved = true }
func (f *modelFuture) Cancelled() error {
	select {
	case f.m.asks <- struct{}{}:
		<-f.m.answers
	case <-f.m.answers:
	}
	return nil
}

// rightsModel does to a queue what connections, callers and the two goroutines of a session do to
// it, one step at a time.
type rightsModel struct {
	q       *queue
	s       *Session
	callers []*modelCaller
	futures []*modelFuture

	writer  bool   // the model has the right to write, as a sender or as the writer goroutine
	turn    uint64 // if not 0, the writer yields, in this turn
	writing *batch // the batch that the writer is writing
	loop    bool   // the loop has the right to read
	waking  bool   // the loop has got the right to read, but was not woken yet
	touched bool   // a sender checks the socket while a caller has the right to read
	ticked  bool
	// concurrency, if not zero, is what the queue takes for its concurrency.
	concurrency int
	mayIdle     bool // nobody needs to read while nothing is pending
	most        int  // number of requests
	// asked is a batch whose futures are being asked whether they are cancelled. The goroutine that
	// asks continues when answers is closed.
	asked         *batch
	asks, answers chan struct{}
	took          chan *batch
	// age is how long the oldest batch has been in flight when a request enters or a write ends.
	age time.Duration
}

func newRightsModel(mayIdle bool, concurrency, most int) *rightsModel {
	q := newTestQueue(100, 1<<20)
	q.opts.Yields = concurrency > 0
	if concurrency > 0 {
		q.Shares(func() int64 { return int64(concurrency) })
	}
	s := testSession()
	s.mayPass, s.mayExchange = true, mayIdle
	q.state, q.session, q.reading = Connected, s, readLoop
	return &rightsModel{q: q, s: s, loop: true, mayIdle: mayIdle, concurrency: concurrency, most: most}
}

// readers returns how many goroutines have the right to read, and the caller among them.
func (m *rightsModel) readers() (n int, caller *modelCaller) {
	if m.loop {
		n++
	}
	for _, c := range m.callers {
		if c.reads {
			n, caller = n+1, c
		}
	}
	return n, caller
}

// steps returns the steps that are possible next.
func (m *rightsModel) steps() (steps []string) {
	if len(m.callers)+len(m.futures) < m.most {
		steps = append(steps, "call", "send")
	}
	switch {
	case m.asked != nil:
		steps = append(steps, "say")
	case m.writing != nil:
		steps = append(steps, "wrote")
	case m.turn != 0:
		steps = append(steps, "run", "pass") // the yielding writer runs again, and may pass the right on
	case m.writer:
		if m.q.open != nil && m.q.open.customFutures {
			steps = append(steps, "grab")
		}
		steps = append(steps, "take", "yield")
	}
	n, caller := m.readers()
	if n > 0 && !m.s.both && !m.waking && m.q.head != nil {
		steps = append(steps, "answer")
		if i := int(m.q.head.claimed.Load()); caller != nil && i+1 == len(m.q.head.items) && m.next().seq == caller.last {
			steps = append(steps, "last") // the reply is the last one that has arrived
		}
	}
	if caller != nil && !m.s.both && m.q.head != nil {
		steps = append(steps, "large")
	}
	if m.waking {
		steps = append(steps, "wake")
	}
	if m.s.both {
		steps = append(steps, "write")
	}
	if m.loop && !m.waking && m.asked == nil && m.mayIdle && m.q.head == nil && m.q.open == nil {
		steps = append(steps, "rest")
	}
	if n == 0 && !m.ticked {
		steps = append(steps, "tick")
	}
	for i, c := range m.callers {
		if !c.gone && !c.resolved && (c == caller || i == 0) {
			steps = append(steps, fmt.Sprint("leave ", i))
		}
	}
	return steps
}

func (m *rightsModel) do(step string) {
	m.ticked = step == "tick"
	if m.concurrency > 0 {
		m.q.concurrency, m.q.minTrip, m.q.pause = m.concurrency, 0, 0
	}
	step, i, _ := strings.Cut(step, " ")
	switch step {
	case "call":
		c := &modelCaller{}
		m.callers = append(m.callers, c)
		m.enter(c)
	case "send":
		f := &modelFuture{m: m}
		m.futures = append(m.futures, f)
		m.enter(f)
	case "take":
		m.take(true) // as the writer goroutine
	case "grab":
		m.take(false) // as a sender
	case "say":
		m.say()
	case "yield":
		m.turn = m.q.startYield()
		if m.turn == 0 {
			m.take(false)
		}
	case "run", "pass":
		mine, again := m.q.endYield(m.turn, step == "pass")
		if len(m.s.wake) > 0 {
			<-m.s.wake // the right has passed to the writer goroutine
			m.turn = 0
			return
		}
		if mine { // otherwise a sender has taken over the right, in enter
			m.turn = again
		}
		if mine && again == 0 {
			m.take(step == "run")
		}
	case "write":
		m.write()
	case "wrote":
		m.setAge()
		m.writer = m.q.wrote(m.writing)
		m.writing = nil
	case "answer":
		m.answer(false)
	case "last":
		m.answer(true)
	case "large": // the reply does not fit into the buffer
		_, caller := m.readers()
		caller.reads = false
		m.q.loopReads(m.s)
		m.loop, m.waking = true, true
	case "wake":
		m.waking = false
		if m.q.takePostponed(m.s) {
			m.writer = true
		}
	case "rest":
		m.pass()
	case "tick":
		m.loop = m.q.takeRead(m.s)
	case "leave":
		i, _ := strconv.Atoi(i)
		c := m.callers[i]
		c.gone = true
		m.q.Withdraw(c.seq)
		if c.reads {
			c.reads = false
			if m.s.both { // PassRead does the same
				m.write()
			}
			m.pass()
		}
	}
}

// halfEnough is a request of such a size that two of them are enough for a batch.
var halfEnough = bytes.Repeat([]byte("x"), enoughBytes/2)

func (m *rightsModel) enter(fut redis.Future) {
	buf := halfEnough[:1]
	if m.concurrency > 0 {
		buf = halfEnough
	}
	m.setAge()
	r := &send.Request{Buf: buf, Caller: send.CallerOf(fut)}
	_, d, entered := m.q.enterAlone(r, fut, 0)
	if !entered {
		_, d, _ = m.q.enter([]*send.Request{r}, &Entry{Future: fut})
	}
	if c, ok := fut.(*modelCaller); ok {
		c.seq = r.Ticket.Seq
	}
	if d&mustWrite != 0 {
		if m.turn != 0 {
			m.turn = 0 // this sender takes over the right
		}
		m.writer = true
	}
	if d&mustWake != 0 {
		m.loop, m.waking = true, true
	}
	if _, caller := m.readers(); d&mustCheck != 0 && caller != nil {
		m.touched = true
	}
}

// write begins the write of a caller that has both rights.
func (m *rightsModel) write() {
	m.writing = m.s.takeFirst()
	m.s.both, m.writer = false, true
}

// setAge makes the oldest batch in flight as old as m.age.
func (m *rightsModel) setAge() {
	if m.q.head != nil {
		m.q.head.Taken = timing.Clock() - m.age
		if m.age == 0 { // then it is young however slow the machine is
			m.q.head.Taken += time.Minute
		}
	}
}

func (m *rightsModel) take(asks bool) {
	if b := m.q.open; asks && b != nil && b.customFutures {
		m.asked, m.asks, m.answers, m.took = b, make(chan struct{}), make(chan struct{}), make(chan *batch, 1)
		go func() { // say lets it end
			b, _ := m.q.take(true)
			m.took <- b
		}()
		<-m.asks
		return
	}
	m.hasTaken(m.q.take(asks))
}

// say lets the goroutine continue that asks the futures of m.asked.
func (m *rightsModel) say() {
	m.asked = nil
	close(m.answers)
	m.hasTaken(<-m.took, nil)
}

func (m *rightsModel) hasTaken(b *batch, _ []cancelledItem) {
	if b == nil {
		m.writer = m.q.writing && !m.s.both
		select {
		case <-m.s.wake: // the writer goroutine has the right
		default:
		}
		return
	}
	m.writing = b
}

// next returns the item that is answered next.
func (m *rightsModel) next() *item {
	return &m.q.head.items[m.q.head.claimed.Load()]
}

// answer reads one reply, as the reader does. If ends is set, no further byte has arrived, and the
// batch is taken out of flight when the reading caller passes on the right.
func (m *rightsModel) answer(ends bool) {
	b := m.q.head
	i := int(b.claimed.Load())
	if i == 0 {
		_, _ = m.q.answering(m.s)
	}
	b.claim(i)
	it := b.items[i]
	if i+1 == len(b.items) && !ends {
		m.q.retire(b, false)
	}
	it.future.Resolve(nil, 0)
	_, caller := m.readers()
	switch {
	case ends:
		caller.reads = false
		m.passRetired(b)
	case caller == nil:
		m.pass() // no further reply has arrived
	case it.seq == caller.last:
		caller.reads = false
		m.pass()
	}
}

func (m *rightsModel) pass() { m.passRetired(nil) }

func (m *rightsModel) passRetired(b *batch) {
	had := m.loop
	m.loop, _ = m.q.passRead(m.s, m.mayIdle, b)
	m.waking = m.loop && !had
}

// check returns an error that describes a broken rule, or nil.
func (m *rightsModel) check() error {
	q := m.q
	n, caller := m.readers()
	want := readNobody
	switch {
	case m.loop:
		want = readLoop
	case caller != nil:
		want = readCaller
	}
	pending := q.head != nil || q.open != nil || m.asked != nil
	switch {
	case m.touched:
		return fmt.Errorf("a sender checks the socket that a caller reads")
	case n > 1:
		return fmt.Errorf("%d have the right to read", n)
	case q.reading != want:
		return fmt.Errorf("reading is %d instead of %d", q.reading, want)
	case q.reading == readNobody && (pending || q.writing):
		return fmt.Errorf("nobody reads, but something is pending")
	case q.writing != (m.writer || m.s.both):
		return fmt.Errorf("writing is %v", q.writing)
	case q.open != nil && !q.writing && !m.waking && !(m.concurrency > 0 && caller != nil && q.head != nil):
		return fmt.Errorf("nobody writes the open batch")
	case caller != nil && m.wouldResolveForeign(caller):
		return fmt.Errorf("a user's future comes before the reply of the caller that reads")
	case !pending && len(m.unresolved()) > 0:
		return fmt.Errorf("lost: %v", m.unresolved())
	}
	return nil
}

// wouldResolveForeign reports whether caller would resolve a user's future before it reads its own
// reply.
func (m *rightsModel) wouldResolveForeign(caller *modelCaller) bool {
	for _, b := range m.batches() {
		for _, it := range b.items[b.claimed.Load():] {
			if it.seq >= caller.last {
				return false
			}
			if _, foreign := it.future.(*modelFuture); foreign {
				return true
			}
		}
	}
	return false
}

// batches returns all batches, in the order in which they are sent.
func (m *rightsModel) batches() (all []*batch) {
	for b := m.q.head; b != nil; b = b.next {
		all = append(all, b)
	}
	if m.asked != nil {
		all = append(all, m.asked)
	}
	if m.q.open != nil {
		all = append(all, m.q.open)
	}
	return all
}

func (m *rightsModel) unresolved() (left []string) {
	for i, c := range m.callers {
		if !c.resolved && !c.gone {
			left = append(left, fmt.Sprint("caller ", i))
		}
	}
	for i, f := range m.futures {
		if !f.resolved {
			left = append(left, fmt.Sprint("future ", i))
		}
	}
	return left
}

// key describes the state. Two states with the same key have the same possible steps.
func (m *rightsModel) key() string {
	var k strings.Builder
	q := m.q
	fmt.Fprint(&k, q.reading, q.writing, q.yielding != 0, q.open != nil && len(q.open.items) > q.yieldedWith, m.turn != 0, m.turn == q.yielding, q.read, m.s.both, m.s.first.Load() != nil, m.loop, m.waking, m.writer, m.ticked, m.writing != nil, alone(q.concurrency), q.concurrency, len(m.callers), len(m.futures), "|")
	for _, b := range m.batches() {
		fmt.Fprint(&k, b == m.writing, b == m.s.first.Load(), b == m.asked, b == q.open, b.written, b.claimed.Load())
		for _, it := range b.items {
			switch f := it.future.(type) {
			case *modelCaller:
				fmt.Fprint(&k, "c", f.reads, f.gone, f.resolved, f.last == it.seq)
			case *modelFuture:
				fmt.Fprint(&k, "f", f.resolved)
			}
		}
		k.WriteByte(';')
	}
	return k.String()
}
