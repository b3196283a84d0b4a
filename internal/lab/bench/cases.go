package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/joomcode/redispipe/internal/lab/bench/peer"
)

// kind selects the loop that runs a case.
type kind string

const (
	closedLoop  kind = "closed"   // each caller sends when its last answer has arrived
	openLoop    kind = "open"     // requests come at a fixed rate
	phases      kind = "phases"   // closed, with callers 1 → Callers → 1
	idleConns   kind = "idle"     // memory of Callers connections that do nothing
	waiting     kind = "waiting"  // memory of Callers that wait for an answer
	handingOver kind = "handover" // Callers pairs: one pushes, the other waits in a blocking pop
	leaving     kind = "leaving"  // Callers whose contexts end before the answer
	limit       kind = "limit"    // redis-benchmark, instead of the clients
)

// Case is a measurement, the same for every client.
type Case struct {
	ID   string // the name for -cases
	Text string // the name in tables
	Kind kind

	Callers  int           // goroutines, or connections
	Size     int           // of values, in bytes
	Batch    int           // requests in a pipeline; 0: single requests
	Rate     int           // requests per second, of an open loop
	Delay    time.Duration // added round-trip time
	Procs    int           // GOMAXPROCS of the client; 0: the default
	Masters  int           // number of masters of a cluster; 0: one server
	Random   bool          // each request uses another key
	TLS      bool
	Ends     ending // how the contexts end
	Stalled  bool   // the server does not answer during the case
	Later    bool   // contexts end only after all callers wait
	Task     task   // what callers do instead of SET and GET
	OnlyFull bool   // left out of -quick
	OnlyOurs bool   // another way of using this library, compared with its plain use
	Tag      string
}

// concurrencies are the numbers of callers in the plot. Those that have targets come first in the
// list of cases and are not repeated.
var concurrencies = []int{16, 24, 32, 64, 256, 512}

// rates are those of the open loop, in requests per second.
var rates = []int{5_000, 20_000, 50_000, 100_000, 200_000, 400_000}

// idleCounts are numbers of idle connections.
var idleCounts = []int{10, 100, 500}

// allCases returns all cases, in the order of the report.
func allCases() []Case {
	cases := []Case{
		{ID: "limit-16", Text: "the server's limit, 16 B", Kind: limit, Size: small},
		{ID: "limit-1k", Text: "the server's limit, 1 KiB", Kind: limit, Size: 1 << 10, OnlyFull: true},
		{ID: "limit-16k", Text: "the server's limit, 16 KiB", Kind: limit, Size: 16 << 10, OnlyFull: true},
		callers(1), callers(2), callers(4), callers(8), callers(128), callers(1000),
		{ID: "1k-c128", Text: "128 callers, 1 KiB", Callers: 128, Size: 1 << 10},
		{ID: "16k-c8", Text: "8 callers, 16 KiB", Callers: 8, Size: 16 << 10, OnlyFull: true},
		{ID: "16k-c64", Text: "64 callers, 16 KiB", Callers: 64, Size: 16 << 10},
		{ID: "many100-c4", Text: "4 callers, batches of 100", Callers: 4, Batch: 100},
		{ID: "many100-c16", Text: "16 callers, batches of 100", Callers: 16, Batch: 100, OnlyFull: true},
		{ID: "into-c1", Text: "1 caller, GET into its buffer", Callers: 1, OnlyOurs: true, Tag: "into"},
		{ID: "fence-c128", Text: "128 callers, integrity fence", Callers: 128, OnlyOurs: true, Tag: "fence"},
		delayed("0.2ms", 200*time.Microsecond), delayed("1ms", time.Millisecond), delayed("10ms", 10*time.Millisecond),
		{ID: "tls-c1", Text: "TLS, 1 caller", Callers: 1, TLS: true, OnlyFull: true},
		{ID: "tls-c8", Text: "TLS, 8 callers", Callers: 8, TLS: true, OnlyFull: true},
		{ID: "tls-c128", Text: "TLS, 128 callers", Callers: 128, TLS: true},
		{ID: "phases", Text: "callers 1 → 512 → 1", Kind: phases, Callers: 512},
		{ID: "waiting", Text: "10,000 waiting callers", Kind: waiting, Callers: 10_000},
	}
	for _, n := range []int{1, 2, 8, 32} {
		for _, m := range []int{1, 8, 24, 128, 1000} {
			cases = append(cases, onProcs(n, callers(m)))
		}
	}
	cases = append(cases, clusterCases()...)
	cases = append(cases, serviceCases()...)
	cases = append(cases, leavingCases()...)
	for _, n := range idleCounts {
		cases = append(cases, Case{
			ID: fmt.Sprintf("idle-%d", n), Text: fmt.Sprintf("%d idle connections", n),
			Kind: idleConns, Callers: n, OnlyFull: n != 100,
		})
	}
	for _, n := range rates {
		cases = append(cases, Case{
			ID: fmt.Sprintf("rate-%dk", n/1000), Text: fmt.Sprintf("%d,000 requests/s offered", n/1000),
			Kind: openLoop, Rate: n, Callers: openWorkers, OnlyFull: n != 50_000,
		})
	}
	for _, n := range concurrencies {
		c := callers(n)
		c.OnlyFull = true
		cases = append(cases, c)
	}
	for i := range cases {
		if cases[i].Kind == "" {
			cases[i].Kind = closedLoop
		}
		if cases[i].Size == 0 {
			cases[i].Size = small
		}
	}
	return cases
}

// small is the size of most values.
const small = 16

func callers(n int) Case {
	c := Case{ID: fmt.Sprintf("c%d", n), Text: fmt.Sprintf("%d callers", n), Callers: n, Tag: "sync"}
	if n == 1 {
		c.Text = "1 caller"
	}
	return c
}

// clusterCallers are the numbers of callers in cases with a cluster.
var clusterCallers = [...]int{8, 128, 1000}

// clusterCases returns the cases by number of masters, because another number of masters needs
// another cluster. With random keys each caller sends to all nodes, otherwise to one.
func clusterCases() (cases []Case) {
	for _, masters := range []int{3, 12, 24} {
		for _, random := range []bool{true, false} {
			for _, n := range clusterCallers {
				c := Case{
					ID: clusterID(masters, n, random), Text: fmt.Sprintf("cluster of %d, %d callers", masters, n),
					Callers: n, Masters: masters, Random: random, OnlyFull: masters != 3 || n != 128,
				}
				if random {
					c.Text += ", random keys"
				}
				cases = append(cases, c)
			}
		}
	}
	return cases
}

func clusterID(masters, callers int, random bool) string {
	if random {
		return fmt.Sprintf("random%d-c%d", masters, callers)
	}
	return fmt.Sprintf("cluster%d-c%d", masters, callers)
}

func onProcs(n int, c Case) Case {
	c.ID = fmt.Sprintf("procs%d-%s", n, c.ID)
	c.Text = fmt.Sprintf("GOMAXPROCS %d, %s", n, c.Text)
	c.Procs, c.OnlyFull, c.Tag = n, true, ""
	return c
}

func delayed(name string, d time.Duration) Case {
	return Case{
		ID: "delay-" + name, Text: fmt.Sprintf("round trip + %v, 128 callers", d), Callers: 128, Delay: d,
		OnlyFull: d != time.Millisecond,
	}
}

// find returns a case by its ID.
func find(id string) (Case, bool) {
	all := allCases()
	i := slices.IndexFunc(all, func(c Case) bool { return c.ID == id })
	if i < 0 {
		return Case{}, false
	}
	return all[i], true
}

// selectCases returns the cases that match a comma-separated list of patterns. An empty list means
// all cases of the mode.
func selectCases(patterns string, quick bool) ([]Case, error) {
	return pick(allCases(), patterns, func(c Case) string { return c.ID },
		func(c Case) bool { return !quick || !c.OnlyFull })
}

// selectDrivers returns the clients that match a comma-separated list of patterns.
func selectDrivers(patterns string) ([]peer.Driver, error) {
	return pick(peer.Drivers(), patterns, func(d peer.Driver) string { return d.Name },
		func(peer.Driver) bool { return true })
}

func pick[T any](all []T, patterns string, name func(T) string, unnamed func(T) bool) ([]T, error) {
	if patterns == "" {
		return slices.DeleteFunc(all, func(x T) bool { return !unnamed(x) }), nil
	}
	chosen := map[string]bool{}
	for p := range strings.SplitSeq(patterns, ",") {
		found := false
		for _, x := range all {
			ok, err := path.Match(strings.TrimSpace(p), name(x))
			if err != nil {
				return nil, fmt.Errorf("pattern %q: %w", p, err)
			}
			if ok {
				chosen[name(x)], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("nothing is called %q", p)
		}
	}
	return slices.DeleteFunc(all, func(x T) bool { return !chosen[name(x)] }), nil
}

// fits reports whether a client takes part in a case.
func (c Case) fits(d peer.Driver) bool {
	switch {
	case c.Kind == limit:
		return false
	case d.OnlyCase != "" && d.OnlyCase != c.Tag,
		c.OnlyOurs && !d.Ours,
		c.Masters > 0 && d.NoCluster,
		c.TLS && d.NoTLS,
		c.Batch > 0 && !d.Pipelines,
		(c.Task != "" || c.Kind == handingOver) && !d.Serves:
		return false
	case d.MaxCallers > 0 && c.callersOf(d) > d.MaxCallers:
		return false
	case d.Floor && c.Kind != closedLoop:
		return false
	}
	return true
}

// limitID returns the ID of the case that measures the limit of the server for this case, or "".
// Only cases of SET and GET on a single local server have a limit.
func (c Case) limitID() string {
	if c.Task != "" || c.Masters > 0 || c.TLS || c.Delay > 0 {
		return ""
	}
	all := allCases()
	i := slices.IndexFunc(all, func(l Case) bool { return l.Kind == limit && l.Size == c.Size })
	if i < 0 {
		return ""
	}
	return all[i].ID
}

// callersOf returns Callers, except for the bare socket behind a delay. That has one caller, to
// measure the real round trip.
func (c Case) callersOf(d peer.Driver) int {
	if d.Floor && c.Delay > 0 {
		return 1
	}
	return c.Callers
}
