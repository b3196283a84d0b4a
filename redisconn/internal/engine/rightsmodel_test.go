package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// modelCaller is a caller that waits for one request.
type modelCaller struct {
	seq      uint64
	reads    bool // it has the right to read, up to last
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

// modelFuture is a future of the user's, which takes a step to say whether it is cancelled.
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

// rightsModel drives the rights of a queue as connections, callers and the two
// goroutines of a session do, one step at a time.
type rightsModel struct {
	q       *queue
	s       *Session
	callers []*modelCaller
	futures []*modelFuture

	writer  bool   // somebody has the right to write
	turn    uint64 // and yields, if not 0
	writing *batch // and writes this
	loop    bool   // the loop has the right to read
	waking  bool   // but does not know it yet
	touched bool   // a sender checks the socket while a caller has the right to read
	ticked  bool
	// concurrency is that of more callers than are seen, or zero.
	concurrency int
	mayIdle     bool // nobody needs to read while nothing is pending
	most        int  // requests
	// asked is the batch whose futures are being asked, by a goroutine that goes on when
	// answers is closed.
	asked         *batch
	asks, answers chan struct{}
	took          chan *batch
	// age is how long the oldest batch has been in flight when another one is opened.
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

// readers returns how many have the right to read, and the caller that has it.
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

// steps returns the possible next steps. There are few requests, so that there are few states.
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
		steps = append(steps, "run", "pass") // who yields runs again, and may pass the right on
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
			steps = append(steps, "last") // and no more has come
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
	var i int
	switch fmt.Sscanf(step, "leave %d", &i); strings.Fields(step)[0] {
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
			<-m.s.wake // the writer goroutine is the writer
			m.turn = 0
			return
		}
		if mine { // else somebody has taken the right over, and has it from enter
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
		c := m.callers[i]
		c.gone = true
		m.q.Withdraw(c.seq)
		if c.reads {
			c.reads = false
			if m.s.both { // as passRead
				m.write()
			}
			m.pass()
		}
	}
}

// halfEnough is a request of which a batch has enough with two.
var halfEnough = strings.Repeat("x", enoughBytes/2)

func (m *rightsModel) enter(fut redis.Future) {
	buf := "x"
	if m.concurrency > 0 {
		buf = halfEnough
	}
	m.setAge()
	r := &send.Request{Buf: []byte(buf), Caller: send.CallerOf(fut)}
	_, d, entered := m.q.enterAlone(r, fut, 0)
	if !entered {
		_, d, _ = m.q.enter([]*send.Request{r}, &Entry{Future: fut})
	}
	if c, ok := fut.(*modelCaller); ok {
		c.seq = r.Ticket.Seq
	}
	if d&mustWrite != 0 {
		if m.turn != 0 {
			m.turn = 0 // taken over
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

// write is what a caller with both rights does first.
func (m *rightsModel) write() {
	m.writing = m.s.takeFirst()
	m.s.both, m.writer = false, true
}

// setAge sets the age of the oldest batch to that of the model.
func (m *rightsModel) setAge() {
	if m.q.head != nil {
		m.q.head.Taken = timing.Clock() - m.age
		if m.age == 0 { // however slow the machine is
			m.q.head.Taken += time.Minute
		}
	}
}

func (m *rightsModel) take(asks bool) {
	if b := m.q.open; asks && b != nil && b.customFutures {
		m.asked, m.asks, m.answers, m.took = b, make(chan struct{}), make(chan struct{}), make(chan *batch, 1)
		go func() { // ends with say
			b, _ := m.q.take(true)
			m.took <- b
		}()
		<-m.asks
		return
	}
	m.hasTaken(m.q.take(asks))
}

// say lets the goroutine that calls Cancelled continue, with an answer.
func (m *rightsModel) say() {
	m.asked = nil
	close(m.answers)
	m.hasTaken(<-m.took, nil)
}

func (m *rightsModel) hasTaken(b *batch, _ []cancelledItem) {
	if b == nil {
		m.writer = m.q.writing && !m.s.both
		select {
		case <-m.s.wake: // the right has gone to the writer
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

// answer reads one reply, as package pipe does. ends is whether it is the last that has come,
// so that its batch is taken out of flight when the right is passed on.
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
		m.pass() // nothing more is buffered
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

// check returns a description of a broken rule, or "".
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

// wouldResolveForeign reports whether caller meets a user's future before its
// own reply.
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

// batches returns the batches in the order of the wire.
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

// key returns the same string only for states with the same possible steps.
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
