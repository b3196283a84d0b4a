package pipe

import (
	"errors"
	"os"
	"time"

	"github.com/joomcode/redispipe/internal/peer"
	"github.com/joomcode/redispipe/redis"
)

// connCheck ends the session, and returns false, if the server has closed the connection or
// has sent something that nobody asked for. Its caller has both rights, and loses the right
// to write when the session ends.
func (s *Session) connCheck() bool {
	err := s.checker.Check()
	if err == peer.ErrUnsolicited && s.raw == nil {
		err = s.readRecords(recordsWait)
	}
	if err != nil {
		s.failCheck(err)
		s.p.queue.Release()
	}
	return err == nil
}

// failCheck ends a session with the error that a check has found.
func (s *Session) failCheck(err error) {
	if err == peer.ErrUnsolicited {
		s.Fail(redis.ErrResponseUnexpected.New("%s", peer.ErrUnsolicited.Error()))
	} else {
		s.Fail(redis.ErrIO.Wrap(err, "reading"))
	}
}

// recordsWait is how long connCheck waits for the rest of a TLS record that has begun to
// come. Records without data come after a handshake, and when keys change.
const recordsWait = time.Millisecond

// readRecords reads TLS records for a time, or those that are buffered already if it is
// negative. It returns peer.ErrUnsolicited if one of them has data.
func (s *Session) readRecords(wait time.Duration) error {
	_ = s.SetReadDeadline(time.Now().Add(wait))
	err := s.Dec.AwaitMore()
	_ = s.SetReadDeadline(time.Time{})
	switch {
	case err == nil:
		return peer.ErrUnsolicited
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	}
	return err
}
