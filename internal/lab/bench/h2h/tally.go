package h2h

import (
	"fmt"
	"strings"
)

// tally collects what children say.
type tally struct {
	outcomes []outcome
	last     *finding
	death    string
}

// add notes how a case ended. A process that dies of a case after all, when its
// outcome was already told, has the last word.
func (t *tally) add(o outcome) {
	for i := range t.outcomes {
		if t.outcomes[i].Index == o.Index {
			t.outcomes[i] = o
			return
		}
	}
	t.outcomes = append(t.outcomes, o)
}

// Results of a case of a list.
const (
	asError = "error"
	asValue = "value"
	asHang  = "hang"
)

// finding sums up a list of cases, or is what the child found.
func (t *tally) finding() finding {
	if t.last != nil {
		return *t.last
	}
	count := map[string]int{}
	var deaths, values, hangs []string
	for _, o := range t.outcomes {
		name := hostileReplies()[o.Index].name
		switch {
		case strings.HasPrefix(o.Result, "died"), strings.HasPrefix(o.Result, "hung"):
			count["died"]++
			deaths = append(deaths, name)
		case o.Result == asValue:
			count[asValue]++
			values = append(values, name)
		case o.Result == asHang:
			count[asHang]++
			hangs = append(hangs, name)
		default:
			count[asError]++
		}
	}
	if len(t.outcomes) == 0 {
		return finding{Values: map[string]string{}}
	}
	return finding{Values: map[string]string{
		"replies":         fmt.Sprint(len(t.outcomes)),
		"refused":         fmt.Sprint(count[asError]),
		"process died":    withNames(deaths),
		"taken as value":  withNames(values),
		"hung past 2.5 s": withNames(hangs),
	}}
}

// withNames is a count, with the names in brackets if they are few.
func withNames(names []string) string {
	if len(names) == 0 || len(names) > 6 {
		return fmt.Sprint(len(names))
	}
	return fmt.Sprintf("%d (%s)", len(names), strings.Join(names, "; "))
}
