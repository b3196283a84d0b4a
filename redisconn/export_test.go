package redisconn

import (
	"reflect"
	"sync"
	"time"
)

// IdleMost is the interval at which the reader goroutine checks whether anybody reads: see package
// engine.
const IdleMost = 10 * time.Millisecond

// ReaderRests reports whether nobody has the right to read, and nobody will get it for IdleMost
// unless a request comes.
func (c *Connection) ReaderRests() bool {
	q := reflect.ValueOf(c.pipe).Elem().FieldByName("queue").Elem()
	mu := (*sync.Mutex)(q.FieldByName("mu").Addr().UnsafePointer())
	mu.Lock()
	defer mu.Unlock()
	return q.FieldByName("reading").Uint() == 0 && q.FieldByName("read").Bool()
}
