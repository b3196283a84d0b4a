package main

import (
	"fmt"

	"github.com/joomcode/redispipe/internal/lab/bench/peer"
)

// These are the clients that targets name.
const (
	ours     = "redispipe"
	oursSync = "redispipe-sync"
	oursInto = "redispipe-into"
	floor    = "bare socket"
)

// target is a figure that should be reached.
type target struct {
	Case  string
	Text  string
	Bound float64
	// AtLeast is set if the bound is a lower bound.
	AtLeast bool
	// measure returns the figure, and the value with which it is compared. ok is false if the
	// results lack the data.
	measure func(*Results) (figure float64, beside string, ok bool)
}

// met reports whether a figure reaches the target.
func (t target) met(figure float64) bool {
	if t.AtLeast {
		return figure >= t.Bound
	}
	return figure <= t.Bound
}

func targets() []target {
	list := []target{
		{"c1", "time ÷ bare socket", 1.05, false, ratio("c1", nsPerOp, ours, floor)},
		{"c1", "time ÷ best peer", 0.85, false, beside("c1", nsPerOp)},
		{"c2", "time ÷ best peer", 0.90, false, beside("c2", nsPerOp)},
		{"c4", "time ÷ best peer", 0.65, false, beside("c4", nsPerOp)},
		{"c8", "time ÷ best peer", 0.65, false, beside("c8", nsPerOp)},
		{"c128", "time ÷ best peer", 0.70, false, beside("c128", nsPerOp)},
		{"c1000", "time ÷ best peer", 0.45, false, beside("c1000", nsPerOp)},
		{"c1000", "rate ÷ redis-benchmark", 0.80, true, rateOfLimit("c1000")},
		{"1k-c128", "time ÷ best peer", 0.80, false, beside("1k-c128", nsPerOp)},
		{"16k-c64", "time ÷ best peer", 0.85, false, beside("16k-c64", nsPerOp)},
		{"many100-c4", "rate ÷ redis-benchmark", 0.90, true, rateOfLimit("many100-c4")},
		{"cluster3-c8", "time ÷ best peer", 0.75, false, beside("cluster3-c8", nsPerOp)},
		{"cluster3-c128", "time ÷ best peer", 0.65, false, beside("cluster3-c128", nsPerOp)},
		{"cluster3-c1000", "time ÷ best peer", 0.70, false, beside("cluster3-c1000", nsPerOp)},
		{"tls-c1", "time ÷ best peer", 1.05, false, beside("tls-c1", nsPerOp)},
		{"tls-c8", "time ÷ best peer", 0.55, false, beside("tls-c8", nsPerOp)},
		{"tls-c128", "time ÷ best peer", 0.60, false, beside("tls-c128", nsPerOp)},
		{"delay-1ms", "p50 ÷ round trip", 1.10, false, ratio("delay-1ms", p50, ours, floor)},
		{"delay-1ms", "rate ÷ (callers ÷ round trip)", 0.95, true, rateOfRoundTrip("delay-1ms", 128)},
		{"c1", "allocations, SET and GET in turn", 1.01, false, figure("c1", allocsPerOp)},
		{"into-c1", "allocations, GET into the caller's buffer", 0.02, false, figureOf("into-c1", allocsPerOp, oursInto)},
		{"phases", "last ÷ first", 1.05, false, lastToFirst},
		{"idle-100", "KiB per idle connection", 24, false, figure("idle-100", bytesPerConn)},
		{"waiting", "heap bytes per waiting caller, its stack not counted", 1024, false, figure("waiting", heapPerCall)},
	}
	for _, c := range []struct {
		masters int
		bounds  [3]float64
	}{{3, [3]float64{0.85, 0.55, 0.55}}, {12, [3]float64{0.85, 0.75, 0.50}}, {24, [3]float64{0.85, 0.80, 0.70}}} {
		for i, n := range clusterCallers {
			id := clusterID(c.masters, n, true)
			list = append(list, target{id, "time ÷ best peer", c.bounds[i], false, beside(id, nsPerOp)})
		}
	}
	for _, id := range []string{"c1", "c8", "c128", "c1000"} {
		list = append(list, target{id, "SyncCtx ÷ Sync", 1.05, false, ratio(id, nsPerOp, ours, oursSync)})
	}
	for _, id := range []string{"c8", "c128", "c1000"} {
		list = append(list, target{id, "Redis CPU ÷ best peer", 1.00, false, beside(id, serverCPU)})
	}
	for _, t := range []task{queueTask, limiterTask, boardTask} {
		for _, n := range serviceCallers {
			id := t.caseID(n)
			list = append(list, target{id, "time ÷ best peer", 1.00, false, beside(id, nsPerOp)})
		}
	}
	for _, n := range handOvers {
		id := handOverID(n)
		list = append(list, target{id, "p50 ÷ best peer", 1.00, false, beside(id, p50)},
			target{id, "p99 ÷ best peer", 1.00, false, beside(id, p99)})
	}
	for _, c := range leavingCases() {
		bound := 2000.0
		if c.Ends == expired {
			bound = 1000
		}
		list = append(list, target{c.ID, "p99.9, µs after the end", bound, false, figure(c.ID, p999)})
	}
	for _, rate := range rates {
		id := fmt.Sprintf("rate-%dk", rate/1000)
		list = append(list, target{id, "p99 ÷ best peer", 1.00, false, beside(id, p99)})
	}
	return list
}

// best returns the lowest median among other clients: neither this library nor a lower bound
// counts.
func (r *Results) best(caseID string, m metric) (value float64, client string, ok bool) {
	for _, d := range peer.Drivers() {
		if d.Ours || d.Floor {
			continue
		}
		// The latency of a client that did not keep up with the load does not count.
		if rate, open := r.median(caseID, d.Name, achieved); open && rate < keepsPace {
			continue
		}
		if v, has := r.median(caseID, d.Name, m); has && (!ok || v < value) {
			value, client, ok = v, d.Name, true
		}
	}
	return value, client, ok
}

// keepsPace is the share of the offered load, in percent, that a client must achieve to count as
// keeping up.
const keepsPace = 95

func ratio(caseID string, m metric, a, b string) func(*Results) (float64, string, bool) {
	return func(r *Results) (float64, string, bool) {
		x, ok := r.median(caseID, a, m)
		y, has := r.median(caseID, b, m)
		return x / y, b, ok && has
	}
}

func beside(caseID string, m metric) func(*Results) (float64, string, bool) {
	return func(r *Results) (float64, string, bool) {
		x, ok := r.median(caseID, ours, m)
		y, client, has := r.best(caseID, m)
		return x / y, client, ok && has
	}
}

func figure(caseID string, m metric) func(*Results) (float64, string, bool) {
	return figureOf(caseID, m, ours)
}

func figureOf(caseID string, m metric, client string) func(*Results) (float64, string, bool) {
	return func(r *Results) (float64, string, bool) {
		x, ok := r.median(caseID, client, m)
		return x, "", ok
	}
}

func rateOfLimit(caseID string) func(*Results) (float64, string, bool) {
	return func(r *Results) (float64, string, bool) {
		x, ok := r.median(caseID, ours, nsPerOp)
		y, has := r.median("limit-16", limitName, nsPerOp)
		return y / x, limitName, ok && has
	}
}

func rateOfRoundTrip(caseID string, callers float64) func(*Results) (float64, string, bool) {
	return func(r *Results) (float64, string, bool) {
		x, ok := r.median(caseID, ours, nsPerOp)
		trip, has := r.median(caseID, floor, p50)
		return trip * 1000 / callers / x, floor, ok && has
	}
}

func lastToFirst(r *Results) (float64, string, bool) {
	first, ok := r.median("phases", ours, firstPhase)
	last, has := r.median("phases", ours, lastPhase)
	return last / first, "", ok && has
}
