package h2h

import (
	"fmt"
	"slices"
	"time"
)

// standing is what a server was when it ran a write.
type standing uint8

const (
	standingMaster   standing = 1 << iota
	standingReplaced          // another one had been announced as the master
)

// ran returns by ids what the servers were that ran them, and how many writes servers
// ran that had been replaced.
func (s *failoverStage) ran() (by map[string]standing, late int) {
	by = make(map[string]standing)
	for addr, monitors := range s.monitors {
		for _, m := range monitors {
			for _, w := range m.Stop() {
				if len(w.Args) < 3 || slices.Contains(s.group.Addrs(), w.From) {
					continue // a master's, which this server follows
				}
				if s.replaced(addr, w.At) {
					by[w.Args[2]] |= standingReplaced
					late++
				} else {
					by[w.Args[2]] |= standingMaster
				}
			}
		}
	}
	return by, late
}

// replaced reports whether another master than a server was announced by some time.
func (s *failoverStage) replaced(addr string, when time.Time) (yes bool) {
	for _, f := range s.seen {
		if f.announced.Before(when) {
			yes = f.promoted != addr && (yes || f.old == addr)
		}
	}
	return yes
}

// lostWrites counts writes that were acknowledged and lost.
type lostWrites struct {
	// unreplicated were run by the master, and had not reached the replica that was
	// promoted: nobody could have known.
	unreplicated int
	// late were run by a master that had been replaced.
	late int
	// unexplained were run by no master that was watched.
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
