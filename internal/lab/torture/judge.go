package torture

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// Precision compares the requests that a client reported as not sent with the proxy's log.
type Precision struct {
	// NotSent counts the requests that were reported as not sent, and False those among them that
	// the proxy saw.
	NotSent, False int64
	// Unknown counts the requests that were reported as unknown, and Unseen those among them that
	// the proxy did not see.
	Unknown, Unseen int64
}

// Share returns which part of the reports of not sent is correct, or 1 if there were no such reports.
func (p Precision) Share() float64 {
	if p.NotSent == 0 {
		return 1
	}
	return 1 - float64(p.False)/float64(p.NotSent)
}

// scoreNotSent compares the outcomes in a ledger with the requests that a proxy saw. It considers
// only requests that contain their tag.
func scoreNotSent(l *oracle.Ledger, name string, log []chaos.LoggedRequest) Precision {
	seen := map[uint64]bool{}
	for _, r := range log {
		for _, arg := range r.Args() {
			if id, ok := tagID(name, arg); ok {
				seen[id] = true
			}
		}
	}
	var p Precision
	for id := range l.Issued() {
		if !l.Tagged(id) {
			continue
		}
		switch l.Outcome(id) {
		case oracle.NotSent:
			p.NotSent++
			if seen[id] {
				p.False++
				l.Report.Violate(oracle.FalseNotSent, "%s reached the proxy", l.Tag(id))
			}
		case oracle.Unknown:
			p.Unknown++
			if !seen[id] {
				p.Unseen++
			}
		}
	}
	return p
}

// tagID returns the ID in a tag, or in a value that begins with a tag.
func tagID(name, arg string) (uint64, bool) {
	rest, ok := strings.CutPrefix(arg, name+":")
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, "|")
	id, err := strconv.ParseUint(digits, 10, 64)
	return id, err == nil
}

// readList returns a function that reads a list of the execution log, without the client under
// test.
func readList(do func(cmd string, args ...any) any) func(key string) ([]string, error) {
	return func(key string) ([]string, error) {
		res := do("LRANGE", key, 0, -1)
		if err := redis.AsError(res); err != nil {
			return nil, err
		}
		items, ok := res.([]any)
		if !ok {
			return nil, fmt.Errorf("LRANGE answered %T", res)
		}
		list := make([]string, len(items))
		for i, item := range items {
			b, _ := item.([]byte)
			list[i] = string(b)
		}
		return list, nil
	}
}

// readCounter reads a counter, without the client under test.
func readCounter(do func(cmd string, args ...any) any, key string) (int64, error) {
	res := do("GET", key)
	if err := redis.AsError(res); err != nil {
		return 0, err
	}
	if res == nil {
		return 0, nil
	}
	b, _ := res.([]byte)
	return strconv.ParseInt(string(b), 10, 64)
}

func (p *Precision) add(other Precision) {
	p.NotSent += other.NotSent
	p.False += other.False
	p.Unknown += other.Unknown
	p.Unseen += other.Unseen
}
