package redisconn

// StopWrites is for package rediscluster: another server has taken this one's place.
// Nothing of the users' is written from here on, but for what a goroutine is just about
// to write, if the socket takes that at once. What is not written ends with
// [redis.ErrContextClosed], not sent, and what is written only in part is lost with the
// connection. Replies are read until Close. The channel is closed when nobody writes any
// more.
func (c *Connection) StopWrites() (stopped <-chan struct{}) {
	stop := c.pipe.StopWrites(c.withConn(errClosed()))
	done := make(chan struct{})
	go func() { // ends with the last write
		defer close(done)
		stop()
		c.pool.EndWrites()
	}()
	return done
}
