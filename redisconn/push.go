package redisconn

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/nonce"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// PushSocket is a socket to the server of a [Connection], beside the shared one, for
// what a server sends without a request. Any goroutine may send; one goroutine
// receives. It ends with its first error, with Close, or with the connection. It does
// not dial again: its owner has to find out what a new socket has missed.
//
// It has a heartbeat: a server that does not answer ends the socket within IOTimeout.
type PushSocket struct {
	c    *Connection
	sock *socket

	wake chan struct{} // something is to be written, or the socket has ended
	done chan struct{} // closed when the socket has ended
	held atomic.Bool

	mu        sync.Mutex // guards the rest
	out       []byte
	err       *errorx.Error
	pings     []sentPing   // not answered yet, oldest first
	auth      *Credentials // see sentPing: the next reply is AUTH's
	confirmed time.Time
}

// sentPing is a PING on a PushSocket.
type sentPing struct {
	nonce string
	beat  time.Time // when it was sent, if it is a heartbeat; else zero
	// auth, if not nil, are credentials of an AUTH that was sent right behind the PING:
	// so the reply that follows that to the PING is known to be AUTH's.
	auth *Credentials
}

const (
	// A heartbeat is sent four times in IOTimeout and has half of it to be answered in,
	// checked every sixteenth: a server that is gone is noticed after 14/16 at most.
	pushBeats    = 4
	pushPatience = 2
	pushChecks   = 16
)

// OpenPush dials a [PushSocket], with the options of the connection. ctx and
// DialTimeout bound only the dialing. The user needs the permission to PING.
func (c *Connection) OpenPush(ctx context.Context) (*PushSocket, error) {
	if ctx == nil {
		return nil, redis.ErrContextIsNil.New("context is nil")
	}
	if c.ctx.Err() != nil {
		return nil, c.withConn(errClosed())
	}
	began := time.Now()
	defer c.rotation.begin()() // until the socket is there to be authenticated again
	greeted, err := c.open(ctx, step{redis.Req("PING"), checkMayPing})
	if err != nil {
		return nil, c.withConn(err)
	}
	p := &PushSocket{c: c, sock: greeted, confirmed: began, wake: make(chan struct{}, 1), done: make(chan struct{})}
	c.rotation.addPush(p)
	go p.writeLoop()
	return p, nil
}

func checkMayPing(_ *Connection, res any) *errorx.Error {
	if err := redis.AsErrorx(res); err != nil {
		if strings.HasPrefix(err.Message(), misconf) {
			return nil
		}
		return refusedWith(err, ErrInit)
	}
	return nil
}

// misconf is what a server answers to PING that can't write to its disk. It goes on
// publishing.
const misconf = "MISCONF"

// Close ends the socket. It does not wait.
func (p *PushSocket) Close() { p.fail(errClosed()) }

// Done returns a channel that is closed when the socket has ended.
func (p *PushSocket) Done() <-chan struct{} { return p.done }

// Addr returns the address of the connection.
func (p *PushSocket) Addr() string { return p.c.Addr() }

// Confirmed returns a time by which the server had sent everything that was received
// until its heartbeat came back: when the last heartbeat that was answered was sent, or
// when the handshake began. What the server sends after that may be lost if the socket
// breaks.
func (p *PushSocket) Confirmed() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.confirmed
}

// Received returns how many bytes were received.
func (p *PushSocket) Received() int64 { return p.sock.Received() }

// Hold tells the socket that its owner does not receive for now, so that an unanswered
// heartbeat is not taken for a silent server. Hold(false) ends that.
func (p *PushSocket) Hold(on bool) { p.held.Store(on) }

// Send queues requests to be written. It does not wait: Receive returns the replies,
// and the error of a write that fails. If one of the requests can't be encoded, none is
// sent. A PING needs a string as its argument, by which its answer is recognized.
func (p *PushSocket) Send(reqs ...redis.Request) error {
	var encoded []byte
	var pings []sentPing
	for _, req := range reqs {
		var err error
		if encoded, err = redis.AppendRequest(encoded, req); err != nil {
			return err
		}
		if req.Cmd != "PING" {
			continue
		}
		if len(req.Args) != 1 {
			return redis.ErrArgumentType.New("PING on a PushSocket takes one string")
		}
		text, _ := redis.ArgToString(req.Args[0])
		pings = append(pings, sentPing{nonce: text})
	}
	return p.send(encoded, pings)
}

func (p *PushSocket) send(encoded []byte, pings []sentPing) error {
	p.mu.Lock()
	if p.err != nil {
		defer p.mu.Unlock()
		return p.err
	}
	p.out = append(p.out, encoded...)
	p.pings = append(p.pings, pings...)
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return nil
}

// Receive waits for what comes next: a push, which it stores in push, or a reply. The
// echo of a PING is a reply, with RESP2, too, where it comes as a push; so is the
// server's error if it refuses the PING because it can't write to its disk. After an
// error the socket has ended.
func (p *PushSocket) Receive(push *redis.Push) (reply any, pushed bool, err error) {
	for {
		reply, pushed, err = p.sock.Dec.DecodePush(push)
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
		echo, isBeat := p.answered(reply)
		switch {
		case isBeat:
		case echo != "":
			return []byte(echo), false, nil
		default:
			return reply, false, nil
		}
	}
}

// answered takes the reply to the oldest PING. It returns what that asked to be echoed,
// or "" if the reply is not its answer, and whether it was a heartbeat.
func (p *PushSocket) answered(reply any) (echoed string, isBeat bool) {
	err := redis.AsErrorx(reply)
	echo, _ := reply.([]byte)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pings) == 0 {
		return "", false
	}
	oldest := p.pings[0]
	if string(echo) != oldest.nonce && (err == nil || !strings.HasPrefix(err.Message(), misconf)) {
		return "", false
	}
	p.pings, p.auth = p.pings[1:], oldest.auth
	if isBeat = !oldest.beat.IsZero(); isBeat {
		p.confirmed = oldest.beat
	}
	return oldest.nonce, isBeat
}

// authenticated reports whether a reply is AUTH's, and judges it then.
func (p *PushSocket) authenticated(reply any) bool {
	p.mu.Lock()
	cr := p.auth
	p.auth = nil
	p.mu.Unlock()
	if cr != nil {
		_ = p.c.judgeAuth(*cr, reply) // which reports a refusal
	}
	return cr != nil
}

// writeLoop is the goroutine that writes and watches. OpenPush starts it; it ends with the
// socket, which ends with the connection at the latest.
func (p *PushSocket) writeLoop() {
	timeout := p.c.opts.IOTimeout
	if timeout <= 0 {
		timeout = defaultIOTimeout
	}
	ticker := time.NewTicker(max(timeout/pushChecks, time.Millisecond))
	defer ticker.Stop()
	beaten, progress := time.Now(), sock.Progress{Since: time.Now()}
	for {
		select {
		case <-p.done:
			return
		case <-p.c.ctx.Done():
			p.fail(errClosed())
			return
		case <-p.wake:
			p.write(timeout)
		case now := <-ticker.C:
			if p.held.Load() {
				progress.Since = now
			}
			sent := p.unanswered()
			switch {
			case sent.IsZero() && now.Sub(beaten) >= timeout/pushBeats:
				beaten = now
				p.beat(now, nil)
			case !sent.IsZero() && p.c.opts.IOTimeout > 0 && progress.Stalled(now, sent, p.Received(), timeout/pushPatience):
				p.fail(redis.ErrIO.New("no answer within %v", timeout/pushPatience))
			}
		}
	}
}

// unanswered returns when the heartbeat was sent that waits for its answer, if one does.
func (p *PushSocket) unanswered() time.Time {
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
func (p *PushSocket) beat(now time.Time, auth *Credentials) {
	n := nonce.New()
	encoded, _ := redis.AppendRequest(nil, redis.Req("PING", n[:]))
	if auth != nil {
		encoded, _ = redis.AppendRequest(encoded, redis.Req("AUTH", auth.auth()...))
	}
	_ = p.send(encoded, []sentPing{{nonce: string(n[:]), beat: now, auth: auth}})
}

// authenticate sends AUTH, and does not wait for the reply: the socket's owner may not
// receive for now. With RESP2 a server takes no AUTH from a subscriber.
func (p *PushSocket) authenticate(cr Credentials) {
	if p.c.opts.Protocol == 3 {
		p.beat(time.Now(), &cr)
	}
}

func (p *PushSocket) write(timeout time.Duration) {
	p.mu.Lock()
	out := p.out
	p.out = nil
	p.mu.Unlock()
	_ = p.sock.SetWriteDeadline(time.Now().Add(timeout))
	if _, err := p.sock.Write(out); err != nil {
		p.fail(redis.ErrIO.Wrap(err, "writing"))
	}
}

// fail ends the socket with its first error.
func (p *PushSocket) fail(err *errorx.Error) {
	p.mu.Lock()
	first := p.err == nil
	if first {
		p.err = p.c.withConn(err)
		close(p.done)
	}
	p.mu.Unlock()
	if first {
		p.c.rotation.removePush(p)
		_ = p.sock.Close()
	}
}

func (p *PushSocket) failure() *errorx.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
