package redisvirtual

import (
	"net"
	"time"
)

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readBy = t
	c.wakeReader()
	switch {
	case c.closed:
		return net.ErrClosed
	case c.own != nil:
		return c.own.SetReadDeadline(t)
	}
	return nil
}

// SetWriteDeadline implements net.Conn. A Write waits only for room in a full queue.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeBy = t
	switch {
	case c.closed:
		return net.ErrClosed
	case c.own != nil:
		return c.own.SetWriteDeadline(t)
	}
	return nil
}

// setAlarm has who waits to read woken at the deadline. A deadline that moves on, as with each
// request, does not set it again: it rings early, and looks for itself.
func (c *conn) setAlarm() {
	c.alarmed = c.readBy
	if c.alarm == nil {
		c.alarm = time.AfterFunc(time.Until(c.readBy), c.ring)
		return
	}
	c.alarm.Reset(time.Until(c.readBy))
}

// ring is called by the alarm, in a goroutine that ends with it.
func (c *conn) ring() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alarmed = time.Time{}
	switch {
	case c.readers == 0 || c.readBy.IsZero():
	case c.passed(c.readBy):
		c.wakeReader()
	default:
		c.setAlarm()
	}
}

// passed reports whether a deadline has passed. As long as an alarm is to ring before it, it has
// not, which takes no look at the clock.
func (c *conn) passed(deadline time.Time) bool {
	if deadline.IsZero() || !c.alarmed.IsZero() && !deadline.Before(c.alarmed) {
		return false
	}
	return !time.Now().Before(deadline)
}
