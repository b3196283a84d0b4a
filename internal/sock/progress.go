package sock

import "time"

// Progress tells a server that has stopped answering from one that sends much. It is of one
// goroutine.
type Progress struct {
	// Since is from when on too little has come in. It may be set to the present by who
	// knows why nothing comes.
	Since    time.Time
	received int64
}

// enoughProgress is what has to come in within a time-out for a connection to
// count as alive, though the oldest request is not answered: a link that is
// slower than this, 64 KiB/s by default, is of no use.
const enoughProgress = 64 << 10

// Stalled reports whether the oldest request, which was written at that time, has waited for
// the time-out with too little coming in. received is what has come in at all.
func (p *Progress) Stalled(now, oldest time.Time, received int64, timeout time.Duration) bool {
	if received-p.received >= enoughProgress {
		p.Since, p.received = now, received
	}
	if oldest.After(p.Since) {
		p.Since, p.received = oldest, received
	}
	return now.Sub(p.Since) >= timeout
}
