package torture

import (
	"fmt"
	"strings"
	"time"

	"github.com/joomcode/redispipe/internal/lab/oracle"
)

// Totals are the counts and findings of a Soak.
type Totals struct {
	Report    oracle.Report
	Precision Precision
	// Faults counts the faults by kind.
	Faults map[string]int
	// Pops tells what happened to the elements of blocking pops.
	Pops oracle.Tally
	// Rounds counts the rounds that were judged. In Lossy of them, the servers might have lost
	// acknowledged writes.
	Rounds, Lossy int
	Took          time.Duration
	// Samples are taken after a garbage collection, at the end of each round,
	// when nothing is in flight.
	Samples []oracle.Sample
}

// Slopes are the growth per hour of the heap, in bytes, of goroutines and of file descriptors, in
// the second half of the samples, because the first half fills pools and caches.
func (t *Totals) Slopes() (heap, goroutines, fds float64) {
	late := t.Samples[len(t.Samples)/2:]
	return oracle.Slope(late, func(s oracle.Sample) float64 { return float64(s.HeapInuse) }),
		oracle.Slope(late, func(s oracle.Sample) float64 { return float64(s.Goroutines) }),
		oracle.Slope(late, func(s oracle.Sample) float64 { return float64(s.FDs) })
}

// String prints the totals.
func (t *Totals) String() string {
	var b strings.Builder
	requests := t.Report.Requests()
	fmt.Fprintf(&b, "time          %.3f h, %d rounds", t.Took.Hours(), t.Rounds)
	if t.Lossy > 0 {
		fmt.Fprintf(&b, ", of which %d let servers lose acknowledged writes", t.Lossy)
	}
	fmt.Fprintf(&b, "\nrequests      %d (%.0f/s)\n", requests, float64(requests)/t.Took.Seconds())
	fmt.Fprintf(&b, "outcomes      %v\n", &t.Report)
	if t.Precision != (Precision{}) {
		fmt.Fprintf(&b, "not sent      precision %.4f%%: %d told by the proxy's log, %d false\n",
			100*t.Precision.Share(), t.Precision.NotSent, t.Precision.False)
	}
	heap, goroutines, fds := t.Slopes()
	fmt.Fprintf(&b, "pops          %+v\n", t.Pops)
	fmt.Fprintf(&b, "faults        %v\n", t.Faults)
	fmt.Fprintf(&b, "slopes        heap %+.1f KiB/h, goroutines %+.2f/h, descriptors %+.2f/h (%d samples)",
		heap/1024, goroutines, fds, len(t.Samples)-len(t.Samples)/2)
	return b.String()
}
