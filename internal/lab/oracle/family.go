package oracle

import (
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"time"
)

// familyLabel is the label of package runtime/pprof that identifies a family.
const familyLabel = "oracle family"

// families is the number of families.
var families atomic.Int64

// Family is a goroutine together with the goroutines that it, or one of these, has started since.
// So the goroutines of one client can be distinguished from others in the same process. A goroutine
// that a timer starts belongs to no family.
type Family struct{ label string }

// NewFamily makes the calling goroutine the first of a new family. The goroutine leaves its
// previous family.
func NewFamily() Family {
	name := fmt.Sprint(families.Add(1))
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(familyLabel, name)))
	return Family{fmt.Sprintf("%q:%q", familyLabel, name)}
}

// Left returns the stacks of the goroutines of the family that still run after within. If about is
// given, each stack contains one of its strings.
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

// Settle records the goroutines of Left as leaked.
func (f Family) Settle(r *Report, within time.Duration, about ...string) {
	leaked(r, f.Left(within, about...))
}

// running returns the different stacks of the running goroutines.
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
