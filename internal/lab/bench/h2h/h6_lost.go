package h2h

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/lab/torture"
	"github.com/joomcode/redispipe/redisdumb"
	"github.com/joomcode/redispipe/testbed"
)

// witness records all writes on the servers of a group, and which master its sentinels name.
type witness struct {
	group *testbed.Group
	done  chan struct{}
	all   sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	monitors map[string][]*torture.Monitor
	reigns   []reign
}

// reign is when a sentinel first named the master of a greater epoch.
type reign struct {
	since  time.Time
	epoch  uint64
	master string
}

// witnessEvery is the interval at which a witness dials servers that are down, and asks sentinels.
const witnessEvery = 2 * time.Millisecond

// watchGroup watches a group until ran is called.
func watchGroup(group *testbed.Group) *witness {
	w := &witness{group: group, done: make(chan struct{}), monitors: make(map[string][]*torture.Monitor)}
	for _, s := range group.Servers() {
		w.all.Go(func() { w.again(func() { w.monitor(s) }) })
	}
	for _, addr := range group.SentinelAddrs() {
		conn := &redisdumb.Conn{Addr: addr, Timeout: time.Second}
		w.all.Go(func() {
			defer conn.Close()
			w.again(func() { w.ask(conn) })
		})
	}
	return w
}

func (w *witness) again(f func()) {
	ticker := time.NewTicker(witnessEvery)
	defer ticker.Stop()
	for {
		f()
		select {
		case <-ticker.C:
		case <-w.done:
			return
		}
	}
}

// monitor records the writes on a server until the server closes the connection, which it does when
// it is killed or promoted.
func (w *witness) monitor(s *testbed.Server) {
	m, err := torture.StartMonitor(s)
	if err != nil {
		return
	}
	w.mu.Lock()
	w.monitors[s.Addr()] = append(w.monitors[s.Addr()], m)
	w.mu.Unlock()
	select {
	case <-m.Ended():
	case <-w.done:
	}
}

// ask asks a sentinel for its epoch, then its master, then the epoch again. The epoch changes
// before the master.
func (w *witness) ask(conn *redisdumb.Conn) {
	name := w.group.MasterName()
	before := fmt.Sprintf("%s", conn.Do("SENTINEL GET-MASTER-ADDR-BY-NAME", name))
	fields, _ := conn.Do("SENTINEL MASTER", name).([]any)
	named, _ := conn.Do("SENTINEL GET-MASTER-ADDR-BY-NAME", name).([]any)
	if len(named) != 2 || fmt.Sprintf("%s", named) != before {
		return
	}
	master := fmt.Sprintf("%s:%s", named...)
	for i := 0; i+1 < len(fields); i += 2 {
		if fmt.Sprintf("%s", fields[i]) == "config-epoch" {
			epoch, _ := strconv.ParseUint(fmt.Sprintf("%s", fields[i+1]), 10, 64)
			w.names(reign{time.Now(), epoch, master})
		}
	}
}

func (w *witness) names(r reign) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.reigns); n == 0 || r.epoch > w.reigns[n-1].epoch {
		w.reigns = append(w.reigns, r)
	}
}

// standing is the role of a server at the time when it ran a write.
type standing uint8

const (
	standingMaster   standing = 1 << iota // the master of the greatest epoch that a sentinel has named
	standingReplaced                      // a master that another one had replaced
)

// ran stops watching. For each write of the client, by its id, it returns the states of the servers that
// ran it. late is the number of writes that ran on servers that had been replaced.
func (w *witness) ran() (by map[string]standing, late int) {
	close(w.done)
	w.all.Wait()
	by = make(map[string]standing)
	for addr, monitors := range w.monitors {
		for _, m := range monitors {
			for _, write := range m.Stop() {
				if len(write.Args) < 3 || slices.Contains(w.group.Addrs(), write.From) {
					continue // a replica got the write from its master
				}
				as := w.standing(addr, write.At)
				by[write.Args[2]] |= as
				if as == standingReplaced {
					late++
				}
			}
		}
	}
	return by, late
}

func (w *witness) standing(addr string, when time.Time) standing {
	as := standingMaster
	for _, r := range w.reigns {
		switch {
		case r.since.After(when):
			return as
		case r.master == addr:
			as = standingMaster
		default:
			as = standingReplaced
		}
	}
	return as
}

// lostWrites counts writes that were acknowledged and lost.
type lostWrites struct {
	// unreplicated writes ran on the master of the greatest epoch but did not reach the promoted
	// replica. No client could know that.
	unreplicated int
	// late writes ran on a master that had been replaced.
	late int
	// unexplained writes ran on no watched server.
	unexplained int
}

func (l *lostWrites) add(ran standing) {
	switch {
	case ran&standingReplaced != 0:
		l.late++
	case ran&standingMaster != 0:
		l.unreplicated++
	default:
		l.unexplained++
	}
}

// String implements fmt.Stringer.
func (l lostWrites) String() string {
	return fmt.Sprintf("%d / %d / %d", l.unreplicated, l.late, l.unexplained)
}
