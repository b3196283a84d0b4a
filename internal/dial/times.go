package dial

import (
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/histogram"
)

// times counts how long it took to open sockets.
type times struct {
	mu    sync.Mutex // guards taken
	taken histogram.Sparse
}

func (t *times) add(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken.Add(took, 1)
}

// Opened returns how long it took to open each socket that was opened, with its handshake.
func (d *Dialer) Opened() *histogram.Histogram {
	d.opened.mu.Lock()
	defer d.opened.mu.Unlock()
	h := d.opened.taken.Histogram()
	return &h
}
