package live

import "time"

// Rates are what a client did between two samples.
type Rates struct {
	PerSecond, PerWrite float64 // requests
	Failed              float64 // requests that were not sent, or whose outcome is unknown
	Mean                [len(Stages)]time.Duration
}

// Between returns what a client did between two samples. Without elapsed time, PerSecond is 0.
func Between(from, to Sample, elapsed time.Duration) (r Rates) {
	if to.Writes < from.Writes {
		from = Sample{} // from is of a process that has ended
	}
	if elapsed > 0 {
		r.PerSecond = (to.requests() - from.requests()) / elapsed.Seconds()
	}
	r.PerWrite = (to.WrittenRequests - from.WrittenRequests) / max(to.Writes-from.Writes, 1)
	r.Failed = to.NotSent + to.Unknown - from.NotSent - from.Unknown
	for i, stage := range Stages {
		before, after := from.Stage(stage), to.Stage(stage)
		mean := (after.Sum - before.Sum) / max(after.Count-before.Count, 1)
		r.Mean[i] = time.Duration(mean * float64(time.Second))
	}
	return r
}

func (s *Sample) requests() float64 { return s.Values + s.Refused + s.NotSent + s.Unknown }
