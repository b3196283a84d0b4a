package redisconn

// IdleMost is idleMost.
const IdleMost = idleMost

// ReaderRests reports whether the reader rests, and will for IdleMost or longer if
// no request comes.
func (c *Connection) ReaderRests() bool {
	q := &c.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.reading == readNobody && q.read
}
