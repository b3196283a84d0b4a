package engine

import (
	"errors"
	"os"
	"time"

	"github.com/joomcode/redispipe/internal/sock"
)

// connCheck ends the session, and returns false, if the server has closed the connection or sent
// something unsolicited. Its caller has both rights, and loses the right to write when the session
// ends.
func (s *Session) connCheck() bool {
	err := s.checker.Check()
	if err == sock.ErrUnsolicited && s.raw == nil {
		err = s.readRecords(recordsWait)
	}
	if err != nil {
		s.failCheck(err)
		s.p.queue.release()
	}
	return err == nil
}

// recordsWait is how long connCheck waits for the rest of a TLS record that has begun to arrive.
// Records without data come after a handshake, and when keys change.
const recordsWait = time.Millisecond

// readRecords reads TLS records that arrive within wait. If wait is negative, it reads only
// buffered ones. It returns sock.ErrUnsolicited if one of them has data.
func (s *Session) readRecords(wait time.Duration) error {
	_ = s.SetReadDeadline(time.Now().Add(wait))
	err := s.Dec.AwaitMore()
	_ = s.SetReadDeadline(time.Time{})
	switch {
	case err == nil:
		return sock.ErrUnsolicited
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	}
	return err
}
