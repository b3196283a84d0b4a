package chaos

import (
	"errors"
	"io"
	"math/rand"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// proxyPump carries one direction of a link, in its own goroutine, which ends when the source ends.
// Only that goroutine uses the fields that are not atomic or guarded.
type proxyPump struct {
	link     *proxyLink
	dir      Direction
	src, dst *net.TCPConn
	rnd      *rand.Rand

	shut    atomic.Bool           // all later bytes are dropped: a FIN was sent
	swallow atomic.Bool           // bytes are dropped until Heal
	lost    atomic.Bool           // bytes were swallowed
	shape   atomic.Pointer[Fault] // trickle or slice
	latMu   sync.Mutex            // guards late
	late    []*Armed              // faults whose time has come; they happen with the next bytes

	frame  proxyFramer
	offset int64 // bytes of the stream so far
	index  int   // number of messages so far, without pushes
	sent   int   // number of messages passed on: index, minus deleted ones, plus inserted ones
	fired  map[*Armed]bool
	drawn  map[*Armed]int64 // for faults at a random byte, the byte

	out    []byte // processed, not yet written
	marks  []proxyMark
	entry  *proxyEntry // of the request that is arriving
	whole  []byte      // the request that is arriving, while it is held back
	hold   bool
	flip   byte
	insert []byte // to be inserted after the current message
	drop   int    // number of messages to be deleted
	refuse *Armed // refuses the held request or, if there is none, the next one
	remove bool   // the current message is being deleted
}

// proxyMark maps bytes of out to a log entry.
type proxyMark struct {
	entry      *proxyEntry
	begin, end int
	last       bool
}

func (p *proxyPump) run() {
	buf := make([]byte, 64<<10)
	if !p.handle(nil) {
		return
	}
	for {
		n, err := p.src.Read(buf)
		if n > 0 && !p.handle(buf[:n]) {
			return
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			p.link.reset()
		} else if !p.swallow.Load() {
			_ = p.dst.CloseWrite()
		} else if p.dir == Requests {
			p.link.close() // nobody can notice the black hole any more
		}
		return
	}
}

// handle processes bytes of the stream. It returns false if the link is gone.
func (p *proxyPump) handle(chunk []byte) bool {
	for {
		if !p.fire(chunk) {
			return false
		}
		if len(chunk) == 0 {
			return p.flush()
		}
		n := p.untilByteFault(len(chunk))
		n, done := p.frame.feed(chunk[:n])
		p.piece(chunk[:n], done)
		chunk = chunk[n:]
	}
}

// piece handles a part of one message.
func (p *proxyPump) piece(b []byte, done bool) {
	p.offset += int64(len(b))
	p.note(b, done)
	if p.hold {
		p.whole = append(p.whole, b...)
	}
	if p.flip != 0 {
		b[0] ^= p.flip
		if p.hold {
			p.whole[len(p.whole)-len(b)] ^= p.flip
		}
		p.flip = 0
	}
	switch {
	case p.remove:
	case !p.hold:
		p.emit(b, done)
	case done:
		p.match()
		p.refuseHeld()
		p.release(true)
	}
	if done {
		p.messageEnd()
	}
}

func (p *proxyPump) messageEnd() {
	if p.dir == Replies && !p.frame.push {
		if e := p.link.answered(); e != nil && !p.remove {
			p.marks = append(p.marks, proxyMark{entry: e, begin: len(p.out), end: len(p.out)})
		}
	}
	if !p.frame.push {
		p.index++
	}
	if !p.remove {
		p.sent++
		if p.entry != nil {
			p.link.await(p.entry)
		}
	}
	p.remove, p.hold, p.entry, p.whole = false, false, nil, p.whole[:0]
	if p.insert != nil {
		p.inject(p.insert)
		p.insert = nil
	}
	p.link.proxy.messages[p.dir].Add(1)
}

// inject puts a message of the proxy into out, between two messages of the stream.
func (p *proxyPump) inject(b []byte) {
	p.out = append(p.out, b...)
	if p.dir == Requests {
		p.sent++
		p.link.await(nil)
	}
}

// note logs arriving bytes of a request.
func (p *proxyPump) note(b []byte, done bool) {
	log := p.link.proxy.log
	if p.dir != Requests || log.limit == 0 {
		return
	}
	if p.entry == nil {
		p.entry = log.begin(p.link.num, p.index)
	}
	log.arrived(p.entry, b, done)
}

// emit puts bytes into out.
func (p *proxyPump) emit(b []byte, done bool) {
	begin := len(p.out)
	p.out = append(p.out, b...)
	if p.entry != nil {
		p.marks = append(p.marks, proxyMark{entry: p.entry, begin: begin, end: len(p.out), last: done})
	}
}

// release passes on the bytes that were held back.
func (p *proxyPump) release(done bool) {
	if !p.remove {
		p.emit(p.whole, done)
	}
	p.hold, p.whole = false, p.whole[:0]
}

// flush writes out. It returns false if the link is gone.
func (p *proxyPump) flush() bool {
	n := p.write(p.out)
	log := p.link.proxy.log
	for _, m := range p.marks {
		switch {
		case p.dir == Replies:
			if m.end <= n {
				log.replied(m.entry)
			}
		case n > m.begin:
			log.forwarded(m.entry, min(n, m.end)-m.begin, m.last && m.end <= n)
		}
	}
	p.out, p.marks = p.out[:0], p.marks[:0]
	select {
	case <-p.link.done:
		return false
	default:
		return true
	}
}

// write passes on bytes as the current fault of the stream says (trickle, slice, swallow), and
// returns how many it has passed on.
func (p *proxyPump) write(b []byte) int {
	total := 0
	for len(b) > 0 {
		if p.shut.Load() {
			return total
		}
		if p.swallow.Load() {
			p.lost.Store(true)
			return total
		}
		var healed <-chan struct{}
		if p.shape.Load() != nil {
			healed = p.link.proxy.healing()
		}
		n, shape := len(b), p.shape.Load()
		if shape != nil && shape.Do == Slice {
			n = min(n, 1+p.rnd.Intn(shape.N))
		} else if shape != nil {
			n = min(n, shape.N)
		}
		k, err := p.dst.Write(b[:n])
		total += k
		if err != nil {
			p.shut.Store(true) // the other pump sees the end of dst
			return total
		}
		b = b[k:]
		if shape != nil && shape.Do == Trickle {
			p.sleep(shape.Interval, healed)
		}
	}
	return total
}

// sleep waits until the link ends or the proxy heals. The caller must get the channel healed before
// it looks at the state because of which it sleeps. Otherwise it could miss a Heal in between.
func (p *proxyPump) sleep(d time.Duration, healed <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-healed:
	case <-p.link.done:
	}
}
