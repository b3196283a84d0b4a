package oracle

import (
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"time"
)

// familyLabel is the label by which goroutines are told apart, of package runtime/pprof.
const familyLabel = "oracle family"

// families counts them.
var families atomic.Int64

// Family is a goroutine with those that it has started since, and that these have started.
// So one client's goroutines are told from those of others in the same process. What a timer
// starts belongs to none.
type Family struct{ label string }

// NewFamily makes the calling goroutine the first of a family. It leaves the one it was of.
func NewFamily() Family {
	name := fmt.Sprint(families.Add(1))
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(familyLabel, name)))
	return Family{fmt.Sprintf("%q:%q", familyLabel, name)}
}

// Left returns the stacks of those that still run after the time given, and hold one of some
// strings.
func (f Family) Left(within time.Duration, about ...string) []string {
	return leftOf(within, func() (left []string) {
		for _, stack := range f.running() {
			if concerns(stack, about) {
				left = append(left, stack)
			}
		}
		return left
	})
}

// Settle notes those that are left as leaked.
func (f Family) Settle(r *Report, within time.Duration, about ...string) {
	r.leaked(f.Left(within, about...))
}

// running returns the stacks of those that run, each once.
func (f Family) running() (stacks []string) {
	var text strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&text, 1)
	for stack := range strings.SplitSeq(text.String(), "\n\n") {
		if strings.Contains(stack, f.label) {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}
