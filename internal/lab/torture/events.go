package torture

import (
	"fmt"
	"strings"
	"sync"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// maxEventText bounds the text that Events keeps.
const maxEventText = 4 << 20

// Events is a redisconn.Logger that counts events and keeps them as text, in every form in which a
// user may print them.
type Events struct {
	mu     sync.Mutex // guards all fields
	counts map[string]int
	text   strings.Builder
	last   string
}

// NewEvents returns an empty Events.
func NewEvents() *Events { return &Events{counts: map[string]int{}} }

// Report implements redisconn.Logger.
func (e *Events) Report(conn *redisconn.Connection, event redisconn.LogEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	kind := strings.TrimPrefix(fmt.Sprintf("%T", event), "redisconn.")
	e.counts[kind]++
	e.last = fmt.Sprintf("%s %v", kind, event)
	if e.text.Len() < maxEventText {
		fmt.Fprintf(&e.text, "%v %T %v %+v\n", conn, event, event, event)
	}
}

// ReqStat implements redisconn.Logger.
func (e *Events) ReqStat(*redisconn.Connection, redis.Request, any, int64, int64, int64) {}

// Count returns the number of events of a kind, such as "LogDisconnected".
func (e *Events) Count(kind string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.counts[kind]
}

// Last returns the last event.
func (e *Events) Last() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

// Text returns all events as text.
func (e *Events) Text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.text.String()
}
