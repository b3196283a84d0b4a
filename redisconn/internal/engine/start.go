package engine

import (
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
)

// Start begins a session on a socket, and starts its goroutines. When the session fails, call Abandon.
func (p *Pipe) Start(socket *sock.Socket) *Session {
	s := newSession(p, socket)
	p.current.Store(s)
	if p.queue.Change(Connected, s, nil) { // before the loops, which may end the session at once
		s.wake <- nil
	}
	go s.writeLoop()
	go s.readLoop()
	return s
}

func newSession(p *Pipe, socket *sock.Socket) *Session {
	s := &Session{
		Socket:    socket,
		p:         p,
		raw:       sock.NewRaw(socket.Conn),
		processor: newProcessor(socket.Conn),
		failed:    make(chan struct{}),
		quit:      make(chan struct{}),
		readWake:  make(chan struct{}, 1),
		loopEnded: make(chan struct{}),

		interrupted: make(chan struct{}, 1),
	}
	if s.checker = s.raw; s.raw == nil {
		s.checker = sock.NewRaw(socket.Bare())
	}
	socket.Calls = new(timing.Callbacks)
	mayPass := s.Interruptible() && !p.opts.Integrity
	canIdle := mayPass && s.checker != nil && !p.opts.Pushes
	s.wake = make(chan *batch, 1)
	s.mayPass, s.mayExchange = mayPass, s.raw != nil && canIdle
	s.reader, s.exchanger = newReader(s, canIdle), exchanger{s}
	s.beats.s, s.parallel = s, newParallel(p.queue.mostWaited, s.processor)
	if s.raw != nil {
		s.raw.Written, socket.Receive = s.exchangeWritten, s.receive
	}
	return s
}
