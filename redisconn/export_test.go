package redisconn

import (
	"reflect"
	"sync"
	"time"
)

// IdleMost is how often the loop looks whether anybody reads: see package engine.
const IdleMost = 10 * time.Millisecond

// ReaderRests reports whether the reader rests, and will for IdleMost or longer if
// no request comes.
func (c *Connection) ReaderRests() bool {
	q := reflect.ValueOf(c.pipe).Elem().FieldByName("queue").Elem()
	mu := (*sync.Mutex)(q.FieldByName("mu").Addr().UnsafePointer())
	mu.Lock()
	defer mu.Unlock()
	return q.FieldByName("reading").Uint() == 0 && q.FieldByName("read").Bool()
}
