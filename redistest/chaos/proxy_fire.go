package chaos

// fire applies the faults that are due before chunk, which is empty if no more bytes have arrived.
// It returns false if the link is gone.
func (p *proxyPump) fire(chunk []byte) bool {
	start := len(chunk) > 0 && p.frame.boundary()
	counted := start && chunk[0] != '>'
	for _, a := range *p.link.proxy.armed.Load() {
		if !a.on(p.link, p.dir) || !p.due(a, counted) {
			continue
		}
		if !p.do(a) {
			return false
		}
	}
	if len(chunk) > 0 && !p.fireLate() {
		return false
	}
	if counted && p.dir == Replies {
		for _, a := range p.link.takeMarked(p.index) {
			if !p.do(a) {
				return false
			}
		}
		if answer := p.link.takeAnswer(p.index); answer != "" {
			p.remove = true
			p.insert = append(p.insert, answer...)
		}
	}
	if counted && p.drop > 0 {
		p.drop--
		p.remove = true
	}
	if counted && p.dir == Requests {
		p.hold = p.matching() || p.refuse != nil
	}
	return true
}

// due reports whether the stream has reached the point of a. counted is set if a message begins.
func (p *proxyPump) due(a *Armed, counted bool) bool {
	switch at := a.fault.At; at.kind {
	case proxyAtByte, proxyAtRandom:
		return !p.fired[a] && p.offset >= p.byteOf(a)
	case proxyAtMessage:
		return counted && !p.fired[a] && int64(p.index) >= at.n
	case proxyAtChance:
		return counted && p.rnd.Float64() < at.chance
	}
	return false
}

func (p *proxyPump) byteOf(a *Armed) int64 {
	if a.fault.At.kind == proxyAtByte {
		return a.fault.At.n
	}
	n, ok := p.drawn[a]
	if !ok {
		n = p.rnd.Int63n(max(a.fault.At.n, 1))
		p.drawn[a] = n
	}
	return n
}

// untilByteFault returns how many of the next n bytes come before the next fault at a byte.
func (p *proxyPump) untilByteFault(n int) int {
	for _, a := range *p.link.proxy.armed.Load() {
		kind := a.fault.At.kind
		if (kind != proxyAtByte && kind != proxyAtRandom) || !a.on(p.link, p.dir) ||
			p.fired[a] || a.left.Load() == 0 {
			continue
		}
		if d := p.byteOf(a) - p.offset; d > 0 && d < int64(n) {
			n = int(d)
		}
	}
	return n
}

// matching reports whether a fault waits for a request of this link.
func (p *proxyPump) matching() bool {
	for _, a := range *p.link.proxy.armed.Load() {
		if a.fault.At.kind == proxyAtRequest && a.left.Load() != 0 &&
			(a.on(p.link, Requests) || a.on(p.link, Replies)) {
			return true
		}
	}
	return false
}

// match applies the faults that wait for the held request, or marks them for its reply.
func (p *proxyPump) match() {
	for _, a := range *p.link.proxy.armed.Load() {
		if a.fault.At.kind != proxyAtRequest || a.left.Load() == 0 || !a.fault.At.match(p.whole) {
			continue
		}
		if a.on(p.link, Replies) && a.fault.Do != Refuse {
			p.link.mark(p.sent, a)
		}
		if a.on(p.link, Requests) {
			p.meet(a)
		}
	}
}

// meet applies a fault to the request that is held back.
func (p *proxyPump) meet(a *Armed) {
	switch {
	case a.fault.Do == Delay:
		p.hold = false
		p.do(a)
		p.hold = true
	case !a.take():
	case a.fault.Do == Delete:
		p.remove = true
	case a.fault.Do == Refuse:
		p.refuse = a
	case a.fault.Do == Flip:
		p.whole[0] ^= p.mask(a)
	case a.fault.Do == Insert:
		p.inject(a.fault.Bytes)
	default:
		p.hold = false
		p.apply(a, nil)
		p.hold = true
	}
}

// refused is what the server gets in place of a request that is refused. The server runs nothing
// for it, and in a transaction EXEC fails, as after any refused request.
const refused = "*1\r\n$4\r\nECHO\r\n"

// refuseHeld replaces the held request, and makes the other pump replace the reply.
func (p *proxyPump) refuseHeld() {
	if p.refuse == nil || p.remove {
		return
	}
	p.link.answer(p.sent, p.refuse.fault.Answer(parseRequest(string(p.whole))))
	p.insert = append(p.insert, refused...)
	p.refuse, p.remove = nil, true
}

// do applies a fault and counts it, unless it may not happen any more. It returns false if the link
// is gone.
func (p *proxyPump) do(a *Armed) bool {
	healed := p.link.proxy.healing()
	if !a.take() {
		return true
	}
	p.fired[a] = true
	return p.apply(a, healed)
}

// apply applies a fault, after it has written the bytes before it. It returns false if the link is
// gone.
func (p *proxyPump) apply(a *Armed, healed <-chan struct{}) bool {
	if p.hold {
		p.release(false)
	}
	if !p.flush() {
		return false
	}
	switch f := &a.fault; f.Do {
	case Cut:
		p.link.cut()
	case Reset:
		p.link.reset()
		return false
	case HalfClose:
		p.link.halfClose(p)
	case Swallow, Trickle, Slice:
		p.last(a)
	case Delay:
		p.sleep(f.Interval, healed)
	case Flip:
		p.flip = p.mask(a)
	case Delete:
		p.drop++
	case Refuse:
		if p.dir == Requests {
			p.refuse = a
		}
	case Insert:
		p.insert = append(p.insert, f.Bytes...)
		if p.frame.boundary() {
			p.inject(p.insert)
			p.insert = nil
		}
	}
	return true
}

// last begins a lasting fault: swallow, trickle or slice.
func (p *proxyPump) last(a *Armed) {
	if a.fault.Do == Swallow {
		p.swallow.Store(true)
		return
	}
	p.shape.Store(&a.fault)
}

func (p *proxyPump) mask(a *Armed) byte {
	if a.fault.Mask != 0 {
		return a.fault.Mask
	}
	return 1 << p.rnd.Intn(8)
}

// postpone makes a fault with a time happen before the next bytes of the stream.
func (p *proxyPump) postpone(a *Armed) {
	p.latMu.Lock()
	defer p.latMu.Unlock()
	p.late = append(p.late, a)
}

func (p *proxyPump) forgive() {
	p.latMu.Lock()
	defer p.latMu.Unlock()
	p.late = nil
}

func (p *proxyPump) fireLate() bool {
	healed := p.link.proxy.healing()
	p.latMu.Lock()
	late := p.late
	p.late = nil
	p.latMu.Unlock()
	if late == nil {
		return true
	}
	for _, a := range late {
		if !p.apply(a, healed) {
			return false
		}
	}
	return true
}
