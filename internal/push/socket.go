package push

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/pause"
	"github.com/joomcode/redispipe/internal/peer"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// Socket is a socket to the server of a connection, beside the shared one, for
// what a server sends without a request. Any goroutine may send; one goroutine
// receives. It ends with its first error, with Close, or with the connection. It does
// not dial again: its owner has to find out what a new socket has missed.
//
// It has a heartbeat: a server that does not answer ends the socket within IOTimeout.
type Socket struct {
	of   *Sockets
	sock *sock.Socket

	wake   chan struct{} // something is to be written, or the socket has ended
	done   chan struct{} // closed when the socket has ended
	paused atomic.Bool   // see Hold

	mu        sync.Mutex // guards the rest
	out       []byte
	err       *errorx.Error
	pings     []sentPing        // not answered yet, oldest first
	others    int               // requests sent behind the last PING
	auth      *dial.Credentials // see sentPing: the next reply is AUTH's
	confirmed time.Time
}

// sentPing is a PING on a Socket.
type sentPing struct {
	nonce string
	// others is how many requests were sent between the PING before and this one, and have not
	// been refused.
	others int
	beat   time.Time // when it was sent, if it is a heartbeat; else zero
	// auth, if not nil, are credentials of an AUTH that was sent right behind the PING:
	// so the reply that follows that to the PING is known to be AUTH's.
	auth *dial.Credentials
}

const (
	// A heartbeat is sent four times in IOTimeout and has half of it to be answered in,
	// checked every sixteenth, and twice: a server that is gone is noticed after 15/16 at most.
	beats    = 4
	patience = 2
	checks   = 16
)

// Close ends the socket. It does not wait.
func (p *Socket) Close() { p.fail(peer.Closed(p.of.ctx)) }

// Done returns a channel that is closed when the socket has ended.
func (p *Socket) Done() <-chan struct{} { return p.done }

// Addr returns the address of the connection.
func (p *Socket) Addr() string { return p.of.dialer.Address.Text }

// Confirmed returns a time by which the server had sent everything that was received
// until its heartbeat came back: when the last heartbeat that was answered was sent, or
// when the handshake began. What the server sends after that may be lost if the socket
// breaks.
func (p *Socket) Confirmed() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.confirmed
}

// Received returns how many bytes were received.
func (p *Socket) Received() int64 { return p.sock.Received() }

// Hold tells the socket that its owner does not receive for now, so that an unanswered
// heartbeat is not taken for a silent server. Hold(false) ends that.
func (p *Socket) Hold(on bool) { p.paused.Store(on) }

// Send queues requests to be written. It does not wait: Receive returns the replies,
// and the error of a write that fails. If one of the requests can't be encoded, none is
// sent. A PING needs a string as its argument, by which its answer is recognized.
func (p *Socket) Send(reqs ...redis.Request) error {
	var encoded []byte
	var pings []sentPing
	others := 0
	for _, req := range reqs {
		var err error
		if encoded, err = redis.AppendRequest(encoded, req); err != nil {
			return err
		}
		if req.Cmd != "PING" {
			others++
			continue
		}
		if len(req.Args) != 1 {
			return redis.ErrArgumentType.New("PING on a PushSocket takes one string")
		}
		nonce, _ := redis.ArgToString(req.Args[0])
		pings = append(pings, sentPing{nonce: nonce, others: others})
		others = 0
	}
	return p.send(encoded, pings, others)
}

// send queues what is encoded: pings, each behind its other requests, and then others more.
func (p *Socket) send(encoded []byte, pings []sentPing, others int) error {
	p.mu.Lock()
	if p.err != nil {
		defer p.mu.Unlock()
		return p.err
	}
	p.out = append(p.out, encoded...)
	if len(pings) > 0 {
		pings[0].others += p.others
		p.others = 0
	}
	p.pings = append(p.pings, pings...)
	p.others += others
	p.mu.Unlock()
	pause.Wake(p.wake)
	return nil
}

// Receive waits for what comes next: a push, which it stores in push, or a reply. The
// echo of a PING is a reply, with RESP2, too, where it comes as a push; a PING that a sane
// server refuses, because it is busy or can't write to its disk, counts as echoed. After
// an error the socket has ended.
func (p *Socket) Receive(push *redis.Push) (reply any, pushed bool, err error) {
	for {
		reply, pushed, err = p.sock.Dec.DecodePush((*resp.Push)(push))
		if err != nil {
			p.fail(redis.AsErrorx(err))
			return nil, false, p.failure()
		}
		if pushed && len(push.Words) == 1 && string(push.Words[0]) == "pong" {
			reply, pushed = push.Body, false
		}
		if pushed {
			return nil, true, nil
		}
		if p.authenticated(reply) {
			continue
		}
		nonce, isBeat := p.answered(reply)
		switch {
		case isBeat:
		case nonce != "":
			return []byte(nonce), false, nil
		default:
			return reply, false, nil
		}
	}
}

// answered takes the reply to the oldest PING. It returns what that asked to be echoed,
// or "" if the reply is not its answer, and whether it was a heartbeat.
func (p *Socket) answered(reply any) (nonce string, isBeat bool) {
	err := redis.AsErrorx(reply)
	echo, _ := reply.([]byte)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pings) == 0 {
		return "", false
	}
	oldest := &p.pings[0]
	if string(echo) != oldest.nonce && !oldest.refused(err) {
		return "", false
	}
	p.pings, p.auth = p.pings[1:], oldest.auth
	if isBeat = !oldest.beat.IsZero(); isBeat {
		p.confirmed = oldest.beat
	}
	return oldest.nonce, isBeat
}

// refused reports whether an error, which may be nil, answers the PING: if requests of the owner
// were sent before it, each error is one of theirs but those that only a PING gets.
func (s *sentPing) refused(err *errorx.Error) bool {
	switch {
	case err == nil:
		return false
	case peer.PingAlone(err):
		return true
	case s.others > 0:
		s.others--
		return false
	}
	return peer.PingRefused(err)
}

// authenticated reports whether a reply is AUTH's, and judges it then.
func (p *Socket) authenticated(reply any) bool {
	p.mu.Lock()
	cr := p.auth
	p.auth = nil
	p.mu.Unlock()
	if cr != nil {
		p.of.config.Authenticated(*cr, reply)
	}
	return cr != nil
}

// writeLoop is the goroutine that writes and watches. Sockets.Open starts it; it ends with the
// socket, which ends with the connection at the latest.
func (p *Socket) writeLoop() {
	defer context.AfterFunc(p.of.ctx, p.Close)() // also while it waits for the socket
	timeout := p.of.config.Timeout
	ticker := time.NewTicker(max(timeout/checks, time.Millisecond))
	defer ticker.Stop()
	beaten, progress, overdue := time.Now(), sock.Progress{Since: time.Now()}, false
	for {
		select {
		case <-p.done:
			return
		case <-p.wake:
			p.write()
		case now := <-ticker.C:
			if p.paused.Load() {
				progress.Since = now
			}
			// At the first check after this process has stood still, the answer may be there to be read.
			sent, before := p.unanswered(), overdue
			overdue = !sent.IsZero() && p.of.config.TimesOut && progress.Stalled(now, sent, p.Received(), timeout/patience)
			switch {
			case sent.IsZero() && now.Sub(beaten) >= timeout/beats:
				beaten = now
				p.beat(now, nil)
			case overdue && before:
				p.fail(redis.ErrIO.Wrap(os.ErrDeadlineExceeded, "no answer within %v", timeout/patience))
			}
		}
	}
}

// unanswered returns when the heartbeat was sent that waits for its answer, if one does.
func (p *Socket) unanswered() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ping := range p.pings {
		if !ping.beat.IsZero() {
			return ping.beat
		}
	}
	return time.Time{}
}

// beat sends a heartbeat, and right behind it AUTH if auth is not nil. It fails with the
// socket only.
func (p *Socket) beat(now time.Time, auth *dial.Credentials) {
	n := peer.NewNonce()
	encoded, _ := redis.AppendRequest(nil, redis.Req("PING", n[:]))
	if auth != nil {
		req, _ := dial.Auth(*auth)
		encoded, _ = redis.AppendRequest(encoded, req)
	}
	_ = p.send(encoded, []sentPing{{nonce: string(n[:]), beat: now, auth: auth}}, 0)
}

// write writes what is queued. The server has Timeout to take it, if TimesOut is set.
func (p *Socket) write() {
	p.mu.Lock()
	out := p.out
	p.out = nil
	p.mu.Unlock()
	if p.of.config.TimesOut {
		_ = p.sock.SetWriteDeadline(time.Now().Add(p.of.config.Timeout))
	}
	if _, err := p.sock.Write(out); err != nil {
		p.fail(redis.ErrIO.Wrap(err, "writing"))
	}
}

// fail ends the socket with its first error.
func (p *Socket) fail(err *errorx.Error) {
	p.mu.Lock()
	first := p.err == nil
	if first {
		p.err = p.of.config.WithConn(err)
		close(p.done)
	}
	p.mu.Unlock()
	if first {
		p.of.remove(p)
		_ = p.sock.Close()
	}
}

func (p *Socket) failure() *errorx.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
