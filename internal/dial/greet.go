package dial

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// Socket is a network connection on which the handshake is done. Trip is the round-trip time of its
// last handshake, and Credentials are those that the handshake used.
type Socket struct {
	*sock.Socket
	Trip        time.Duration
	Credentials Credentials
	// Number grows with each socket of a Dialer.
	Number uint64
	// Early are the last pushes of the handshake, if the socket was opened by OpenHearing.
	Early [][]any

	echoes bool // the argument of PING came back in the handshake
}

// earlyMost is the number of pushes of the handshake that are kept. Only the last ones count.
const earlyMost = 8

// keepEarly keeps the pushes that arrive in the handshake.
func (s *Socket) keepEarly() {
	s.Dec.OnSkipped(func(push []any) {
		if len(s.Early) == earlyMost {
			s.Early = slices.Delete(s.Early, 0, 1)
		}
		s.Early = append(s.Early, push)
	})
}

// greet does the handshake: it writes all requests at once, then reads all answers. It fails when
// the socket is closed or timeout has passed. Its errors do not show the socket's credentials.
func (s *Socket) greet(timeout time.Duration, steps []Step) *errorx.Error {
	_ = s.SetDeadline(time.Now().Add(timeout))
	var out []byte
	for _, step := range steps {
		var err error
		if out, err = redis.AppendRequest(out, step.Request); err != nil {
			return ErrInit.Wrap(err, "handshake")
		}
	}
	began := time.Now()
	if _, err := s.Write(out); err != nil {
		return s.unwritten(err)
	}
	for _, step := range steps {
		res, err := s.Dec.Decode()
		if err != nil {
			return s.unread(err)
		}
		if err := step.Check(Redact(s.Credentials, res)); err != nil {
			return err
		}
	}
	for s.Dec.AtPush() {
		if err := s.Dec.SkipPush(); err != nil {
			return s.unread(err)
		}
	}
	if s.Dec.Buffered() > 0 {
		return ErrInit.New("the server sent more than was asked for")
	}
	s.Trip = time.Since(began)
	if err := s.SetDeadline(time.Time{}); err != nil {
		return ErrConnSetup.Wrap(err, "handshake")
	}
	return nil
}

// unwritten returns the reason why the handshake could not be written. A server that refuses the
// client's certificate may have closed the connection by then, but its alert can still be read.
func (s *Socket) unwritten(err error) *errorx.Error {
	if isUntrusted(err) { // a user's Dialer may start TLS with the first write
		return ErrTLS.Wrap(err, "TLS handshake")
	}
	if s.Secured() {
		if _, readErr := s.Conn.Read(make([]byte, 1)); isAlert(readErr) {
			return ErrTLS.Wrap(readErr, "TLS handshake")
		}
	}
	return ErrConnSetup.Wrap(err, "writing the handshake")
}

// unread returns the reason why the answer to the handshake could not be read. It tells a broken
// connection from a server that is not a Redis.
func (s *Socket) unread(err error) *errorx.Error {
	err = redis.AsError(Redact(s.Credentials, err))
	if isAlert(err) {
		return ErrTLS.Wrap(err, "TLS handshake")
	}
	if errorx.IsOfType(err, redis.ErrIO) {
		if !s.Secured() && s.Received() == 0 {
			return ErrConnSetup.Wrap(err, "reading the handshake: the server has not answered: "+
				"it may be busy, for example with a script, be a proxy that queues requests, or expect TLS")
		}
		return ErrConnSetup.Wrap(err, "reading the handshake")
	}
	return ErrInit.Wrap(err, "the server is not a Redis")
}

// handshakes are the handshakes that are under way. A handshake counts from before it asks for its
// credentials until the server has accepted them. So Reauthenticate can wait for all handshakes
// that may still use older credentials.
type handshakes struct {
	mu       sync.Mutex // guards the fields below
	underway map[chan struct{}]struct{}
}

// Begin counts a handshake that is about to ask for its credentials. The caller calls over when the
// server has accepted or refused the credentials, or will never get them.
func (h *handshakes) Begin() (over func()) {
	ended := make(chan struct{})
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.underway == nil {
		h.underway = map[chan struct{}]struct{}{}
	}
	h.underway[ended] = struct{}{}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.underway, ended)
		close(ended)
	}
}

// Settle waits until all handshakes that have begun are over, or ctx is done. The Dialer's
// Timeout bounds each handshake.
func (h *handshakes) Settle(ctx context.Context) error {
	h.mu.Lock()
	begun := slices.Collect(maps.Keys(h.underway))
	h.mu.Unlock()
	for _, ended := range begun {
		select {
		case <-ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
