package push

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// Socket is a socket beside the shared one, for pushes. Any goroutine may send; one goroutine
// receives. The socket ends with its first error, with Close, or with the connection. A Socket does
// not reconnect: its owner finds out which messages were missed.
//
// A Socket sends heartbeats. If the server does not answer within IOTimeout, the socket ends.
type Socket struct {
	of   *Sockets
	sock *sock.Socket
	peer sock.Peer
	// framed is set once a RESP3 push has arrived. Only the goroutine that receives uses it.
	framed bool

	wake   chan struct{} // signals that requests are queued, or that the socket has ended
	done   chan struct{} // closed when the socket has ended
	paused atomic.Bool   // see Hold

	came atomic.Uint64 // number of replies and pushes received

	mu        sync.Mutex // guards the fields below
	out       []byte
	err       *errorx.Error
	awaited   []awaited // unanswered, oldest first
	others    int       // requests sent after the last awaited one
	confirmed time.Time
}

// awaited is a request whose reply can be recognized: a PING, or an AUTH that follows a PING.
type awaited struct {
	nonce string
	// others is the number of requests between the previous awaited request and this one. It does not
	// count requests that were refused.
	others int
	beat   time.Time         // if the request is a heartbeat, when it was sent
	auth   *dial.Credentials // if the request is an AUTH, its credentials; its reply follows that of a PING
}

const (
	// A heartbeat is sent four times per IOTimeout, and must be answered within half of it. The
	// socket checks sixteen times per IOTimeout. The socket ends when two checks in a row find an
	// overdue heartbeat, which is within IOTimeout.
	beats    = 4
	patience = 2
	checks   = 16
)

// Close ends the socket. It does not wait.
func (p *Socket) Close() {
	if p.opened() {
		p.fail(sock.Closed(p.of.ctx))
	}
}

// opened reports whether Sockets.Open has returned p.
func (p *Socket) opened() bool { return p != nil && p.of != nil }

// Done returns a channel that is closed when the socket has ended.
func (p *Socket) Done() <-chan struct{} {
	if !p.opened() {
		return lifetime.Ended(nil).Done()
	}
	return p.done
}

// Addr returns the address of the connection.
func (p *Socket) Addr() string {
	if !p.opened() {
		return ""
	}
	return p.of.dialer.Address.Text
}

// Confirmed returns a time up to which nothing that the server sent is missing: the time when the
// last answered heartbeat was sent, or when the handshake began. Later pushes may be lost if the
// socket breaks.
func (p *Socket) Confirmed() time.Time {
	if !p.opened() {
		return time.Time{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.confirmed
}

// ClosesAtUnknown reports whether the other side of a socket closes the connection when it gets a
// command that it does not know.
func ClosesAtUnknown(p *Socket) bool { return p.peer.Lean }

// Received returns the number of bytes received.
func (p *Socket) Received() int64 {
	if !p.opened() {
		return 0
	}
	return p.sock.Received()
}

// Hold(true) tells the socket that the owner does not receive for now. Then an unanswered heartbeat
// does not count as a silent server. Hold(false) ends that.
func (p *Socket) Hold(on bool) {
	if p.opened() {
		p.paused.Store(on)
	}
}

// Send queues requests to be written. It does not wait: Receive returns the replies, and the error
// of a failed write. If one of the requests can't be encoded, none is sent. Each PING needs a
// distinct string as its argument, which identifies the answer.
func (p *Socket) Send(reqs ...redis.Request) error {
	if !p.opened() {
		return errs.NoSender()
	}
	var encoded []byte
	var pings []awaited
	others := 0
	for _, req := range reqs {
		var err error
		whole := encoded
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
		encoded, _ = redis.AppendRequest(whole, p.ping(nonce))
		pings = append(pings, awaited{nonce: nonce, others: others})
		others = 0
	}
	return p.send(encoded, pings, others)
}

// ping returns a PING. The peer answers it with the nonce, or with PONG if the peer does not echo.
func (p *Socket) ping(nonce string) redis.Request {
	if p.peer.Mute {
		return redis.Req("PING")
	}
	return redis.Req("PING", nonce)
}

// send queues encoded requests. await has the requests whose replies can be recognized, each with
// the number of other requests before it. others is the number of requests after the last one of
// await.
func (p *Socket) send(encoded []byte, await []awaited, others int) error {
	p.mu.Lock()
	if p.err != nil {
		defer p.mu.Unlock()
		return p.err
	}
	p.out = append(p.out, encoded...)
	if len(await) > 0 {
		await[0].others += p.others
		p.others = 0
	}
	p.awaited = append(p.awaited, await...)
	p.others += others
	p.mu.Unlock()
	lifetime.Wake(p.wake)
	return nil
}

// Receive waits for a push, which it stores in push, or for a reply. Receive returns the echo of a
// PING as a reply, although it arrives as a push with RESP2. If the server refuses a PING because
// it is busy or can't write to its disk, that counts as the echo. After an error the socket has
// ended.
func (p *Socket) Receive(push *redis.Push) (reply any, pushed bool, err error) {
	if !p.opened() {
		return nil, false, errs.NoSender()
	}
	if push == nil {
		push = new(redis.Push)
	}
	for {
		reply, pushed, err = p.sock.Dec.DecodePush((*resp.Push)(push))
		if err != nil {
			p.fail(redis.AsErrorx(err))
			return nil, false, p.failure()
		}
		p.came.Add(1)
		p.framed = p.framed || pushed
		pushed = pushed || fromArray(reply, push, p.framed)
		if pushed && len(push.Words) == 1 && string(push.Words[0]) == "pong" {
			if reply, pushed = push.Body, false; p.peer.Mute && len(push.Body) == 0 {
				reply = "PONG"
			}
		}
		if pushed {
			return nil, true, nil
		}
		switch to := p.answered(reply); {
		case to == nil:
			return reply, false, nil
		case to.auth != nil:
			p.of.config.Authenticated(*to.auth, reply)
		case to.beat.IsZero():
			return []byte(to.nonce), false, nil
		}
	}
}

// answered returns the oldest awaited request if reply answers it, and nil otherwise.
func (p *Socket) answered(reply any) *awaited {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.awaited) == 0 || !p.awaited[0].answeredBy(reply, p.peer) {
		return nil
	}
	to := &p.awaited[0]
	p.awaited = p.awaited[1:]
	if !to.beat.IsZero() {
		p.confirmed = to.beat
	}
	return to
}

// answeredBy reports whether a reply answers the request. If the owner sent other requests before a
// PING, an error counts as the answer to one of these, unless only a PING can get that error.
func (a *awaited) answeredBy(reply any, peer sock.Peer) bool {
	echo, isText := reply.([]byte)
	err := redis.AsErrorx(reply)
	switch {
	case a.auth != nil, isText && string(echo) == a.nonce, reply == any(a.nonce), peer.Mute && sock.IsPong(reply):
		return true
	case err == nil:
		return false
	case sock.PingAlone(err):
		return true
	case a.others > 0:
		a.others--
		return false
	}
	return sock.PingRefused(err)
}

// writeLoop is the goroutine that writes and checks heartbeats. Sockets.Open starts it. It ends
// with the socket, at the latest when the connection ends.
func (p *Socket) writeLoop() {
	defer context.AfterFunc(p.of.ctx, p.Close)() // ends a wait for the socket, too
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
			// One check is not enough: if this process stood still, the answer may have arrived without
			// having been read.
			sent, before := p.unanswered(), overdue
			overdue = !sent.IsZero() && p.of.config.TimesOut && progress.Stalled(now, sent, sock.Mark{Answered: p.came.Load()}, p.Received(), timeout/patience)
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

// unanswered returns when the unanswered heartbeat was sent, or zero if there is none.
func (p *Socket) unanswered() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ping := range p.awaited {
		if !ping.beat.IsZero() {
			return ping.beat
		}
	}
	return time.Time{}
}

// beat sends a heartbeat and, if auth is not nil, an AUTH after it. If the socket has ended, it
// does nothing.
func (p *Socket) beat(now time.Time, auth *dial.Credentials) {
	n := sock.NewNonce()
	encoded, _ := redis.AppendRequest(nil, p.ping(string(n[:])))
	await := []awaited{{nonce: string(n[:]), beat: now}}
	if auth != nil {
		req, _ := dial.Auth(*auth)
		encoded, _ = redis.AppendRequest(encoded, req)
		await = append(await, awaited{auth: auth})
	}
	_ = p.send(encoded, await, 0)
}

// write writes the queued requests.
func (p *Socket) write() {
	p.mu.Lock()
	out := p.out
	p.out = nil
	p.mu.Unlock()
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
