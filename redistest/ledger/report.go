package ledger

import (
	"fmt"
	"sort"
	"strings"
	"sync"
)

// Violation is a kind of broken promise.
type Violation string

// These are the kinds. A client that keeps its promises causes none of them, unless the server
// loses what it has run.
const (
	Lost         Violation = "lost"           // never resolved
	Double       Violation = "double"         // resolved more than once
	Mixed        Violation = "mixed"          // a value that belongs to another request, or is damaged
	FalseNotSent Violation = "false not-sent" // reported as not sent, but sent or run
	Duplicated   Violation = "duplicated"     // ran more than once
	Missing      Violation = "missing"        // acknowledged, but did not run
	Disordered   Violation = "disordered"     // acknowledged in a different order than run
)

// maxExamples bounds the examples that a Report keeps of each kind.
const maxExamples = 5

// Report collects outcomes and violations. It is safe for concurrent use.
type Report struct {
	mu         sync.Mutex // guards all fields
	outcomes   [outcomes]int64
	violations map[Violation]int64
	examples   map[Violation][]string
}

// Violate records a violation, with an example.
func (r *Report) Violate(v Violation, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.violations == nil {
		r.violations, r.examples = map[Violation]int64{}, map[Violation][]string{}
	}
	r.violations[v]++
	if len(r.examples[v]) < maxExamples {
		r.examples[v] = append(r.examples[v], fmt.Sprintf(format, args...))
	}
}

func (r *Report) outcome(o Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes[o]++
}

// Outcomes returns the number of requests with the outcome o.
func (r *Report) Outcomes(o Outcome) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.outcomes[o]
}

// Requests returns the number of requests that have ended.
func (r *Report) Requests() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	total := int64(0)
	for _, n := range r.outcomes {
		total += n
	}
	return total
}

// Count returns how often v occurred.
func (r *Report) Count(v Violation) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.violations[v]
}

// Failed reports whether any promise was broken.
func (r *Report) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.violations) > 0
}

// Add adds another report's sums and examples.
func (r *Report) Add(other *Report) {
	other.mu.Lock()
	ends, counts, examples := other.outcomes, map[Violation]int64{}, map[Violation][]string{}
	for v, n := range other.violations {
		counts[v], examples[v] = n, append([]string(nil), other.examples[v]...)
	}
	other.mu.Unlock()

	r.mu.Lock()
	for o, n := range ends {
		r.outcomes[o] += n
	}
	r.mu.Unlock()
	for v, n := range counts {
		for _, example := range examples[v] {
			r.Violate(v, "%s", example)
		}
		r.mu.Lock()
		r.violations[v] += n - int64(len(examples[v]))
		r.mu.Unlock()
	}
}

// String prints outcomes, and violations with examples.
func (r *Report) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for o := Value; o < outcomes; o++ {
		fmt.Fprintf(&b, "%s %d, ", o, r.outcomes[o])
	}
	fmt.Fprintf(&b, "%d kinds of violations", len(r.violations))
	var kinds []string
	for v := range r.violations {
		kinds = append(kinds, string(v))
	}
	sort.Strings(kinds)
	for _, v := range kinds {
		fmt.Fprintf(&b, "\n  %s: %d", v, r.violations[Violation(v)])
		for _, example := range r.examples[Violation(v)] {
			fmt.Fprintf(&b, "\n    %s", example)
		}
	}
	return b.String()
}
