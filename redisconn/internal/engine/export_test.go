package engine

// IdleMost is the interval at which the reader goroutine checks whether anybody reads.
const IdleMost = idleMost

// ReaderRests reports whether nobody has the right to read, and nobody will get it for IdleMost
// unless a request comes.
func (p *Pipe) ReaderRests() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reading == readNobody && p.read
}
