package main

import (
	"slices"
)

// metric is a measured quantity, named as the head of its column.
type metric string

const (
	nsPerOp      metric = "ns/op"
	p50          metric = "p50 µs"
	p99          metric = "p99 µs"
	p999         metric = "p99.9 µs"
	clientCPU    metric = "client CPU ns/op"
	serverCPU    metric = "Redis CPU ns/op"
	bytesPerOp   metric = "B/op"
	allocsPerOp  metric = "allocs/op"
	opsPerRead   metric = "requests/read"
	bareP999     metric = "context alone p99.9 µs"
	leastP999    metric = "least client p99.9 µs"
	achieved     metric = "achieved %" // share of the offered load
	firstPhase   metric = "first ns/op"
	middlePhase  metric = "middle ns/op"
	lastPhase    metric = "last ns/op"
	bytesPerConn metric = "KiB/connection"
	heapPerCall  metric = "heap B/caller"
	stackPerCall metric = "stack B/caller"
	failures     metric = "errors"
)

// allMetrics are all metrics, in the order of the columns.
var allMetrics = []metric{
	nsPerOp, p50, p99, p999, clientCPU, serverCPU, bytesPerOp, allocsPerOp, opsPerRead,
	bareP999, leastP999, achieved, firstPhase, middlePhase, lastPhase, bytesPerConn, heapPerCall, stackPerCall, failures,
}

// values are the results of one run.
type values map[metric]float64

// key identifies a row of the report.
type key struct{ Case, Client string }

// Results are the results of all runs.
type Results struct {
	runs map[key][]values
	// failed has the errors of runs that failed.
	failed map[key]error
}

func newResults() *Results {
	return &Results{runs: map[key][]values{}, failed: map[key]error{}}
}

func (r *Results) add(k key, v values) { r.runs[k] = append(r.runs[k], v) }

// all returns all values of a metric, sorted.
func (r *Results) all(caseID, client string, m metric) []float64 {
	var out []float64
	for _, v := range r.runs[key{caseID, client}] {
		if x, ok := v[m]; ok {
			out = append(out, x)
		}
	}
	slices.Sort(out)
	return out
}

// median returns the median of a metric over the rounds. It returns false if the metric was not
// measured.
func (r *Results) median(caseID, client string, m metric) (float64, bool) {
	all := r.all(caseID, client, m)
	if len(all) == 0 {
		return 0, false
	}
	middle := len(all) / 2
	if len(all)%2 == 1 {
		return all[middle], true
	}
	return (all[middle-1] + all[middle]) / 2, true
}

// has reports whether there are results of a case.
func (r *Results) has(caseID string) bool {
	for k := range r.runs {
		if k.Case == caseID {
			return true
		}
	}
	return false
}
