package oracle

import (
	"os"
	"runtime"
	"strings"
	"time"
)

// Sample is the resource usage of the process at one time.
type Sample struct {
	At         time.Time
	Goroutines int
	// HeapInuse is in bytes. It includes garbage that is not yet collected.
	HeapInuse uint64
	// FDs is the number of open file descriptors, or -1 if it is not known.
	FDs int
}

// TakeSample takes a sample, after a garbage collection if collect is set.
func TakeSample(collect bool) Sample {
	if collect {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s := Sample{At: time.Now(), Goroutines: runtime.NumGoroutine(), HeapInuse: m.HeapInuse, FDs: -1}
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		s.FDs = len(entries) - 1 // not counting the descriptor of the directory itself
	}
	return s
}

// Resources samples the process in its own goroutine, until Stop.
type Resources struct {
	samples []Sample // owned by the goroutine until it has ended
	stop    chan struct{}
	done    chan struct{}
}

// WatchResources takes a sample per interval, after a garbage collection if collect is set.
func WatchResources(interval time.Duration, collect bool) *Resources {
	r := &Resources{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(r.done)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			r.samples = append(r.samples, TakeSample(collect))
			select {
			case <-tick.C:
			case <-r.stop:
				return
			}
		}
	}()
	return r
}

// Stop ends the sampling and returns all samples.
func (r *Resources) Stop() []Sample {
	close(r.stop)
	<-r.done
	return r.samples
}

// Slope returns the least-squares slope of a series, per hour.
func Slope(samples []Sample, of func(Sample) float64) float64 {
	if len(samples) < 2 {
		return 0
	}
	var sx, sy, sxx, sxy float64
	n, begin := float64(len(samples)), samples[0].At
	for _, s := range samples {
		x, y := s.At.Sub(begin).Hours(), of(s)
		sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	d := n*sxx - sx*sx
	if d == 0 {
		return 0
	}
	return (n*sxy - sx*sy) / d
}

// Goroutines is a set of running goroutines: stacks by the number of the goroutine.
type Goroutines map[string]string

// RunningGoroutines returns the goroutines that run now, except the caller.
func RunningGoroutines() Goroutines {
	buf := make([]byte, 1<<20)
	n := runtime.Stack(buf, true)
	for n == len(buf) {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	running := Goroutines{}
	for _, stack := range strings.Split(string(buf[:n]), "\n\n")[1:] {
		head, _, _ := strings.Cut(stack, " [")
		running[head] = stack
	}
	return running
}

// Left returns the stacks of the goroutines that were not in before and still run after the given
// time. It leaves out goroutines of package testing. If about is given, it also leaves out those
// whose stacks contain none of its strings.
func (before Goroutines) Left(within time.Duration, about ...string) []string {
	return leftOf(within, func() (left []string) {
		for number, stack := range RunningGoroutines() {
			if _, old := before[number]; !old && concerns(stack, about) {
				left = append(left, stack)
			}
		}
		return left
	})
}

// lateSamples is how many samples leftOf takes after its deadline, a millisecond apart, because a
// process that was stalled until then must first let its goroutines run.
const lateSamples = 10

// leftOf returns what still runs after within. If nothing is left earlier, it returns at once.
func leftOf(within time.Duration, running func() []string) []string {
	deadline := time.Now().Add(within)
	for late := 0; ; {
		if time.Now().After(deadline) {
			late++
		}
		left := running()
		if len(left) == 0 || late == lateSamples {
			return left
		}
		time.Sleep(time.Millisecond)
	}
}

func concerns(stack string, about []string) bool {
	for _, what := range about {
		if strings.Contains(stack, what) {
			return true
		}
	}
	return len(about) == 0 && !strings.Contains(stack, "testing.(*")
}

// Settle records the remaining goroutines as leaked.
func (before Goroutines) Settle(r *Report, within time.Duration, about ...string) {
	leaked(r, before.Left(within, about...))
}

// TakeAllocated returns how many bytes the process has allocated so far, including freed ones.
func TakeAllocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
