package ledger

import (
	"fmt"
	"sort"
	"sync"
)

// Lists show what the server ran. Each goroutine pushes the tags of its requests to the right end
// of its own list, in the order of sending. Lists is safe for concurrent use if each key has one
// user.
type Lists struct {
	// Lossy is set if the server may lose writes that it executed, for example in a failover that is
	// not graceful. Then acknowledged writes may be missing.
	Lossy bool

	ledger *Ledger
	mu     sync.Mutex // guards writes
	writes map[string][]uint64
}

// NewLists returns Lists whose requests are recorded in l.
func NewLists(l *Ledger) *Lists {
	return &Lists{ledger: l, writes: map[string][]uint64{}}
}

// Issue opens a slot for an RPUSH of tag to the list at key.
func (s *Lists) Issue(key string) (tag string, id uint64) {
	id = s.ledger.IssueTagged(func(string) Check { return isLength })
	s.mu.Lock()
	s.writes[key] = append(s.writes[key], id)
	s.mu.Unlock()
	return s.ledger.Tag(id), id
}

// isLength checks that a reply is the length of a list that is not empty.
func isLength(reply any) error {
	if n, ok := reply.(int64); !ok || n <= 0 {
		return fmt.Errorf("length: got %T: %s", reply, show(reply))
	}
	return nil
}

// Keys returns the lists that were written to.
func (s *Lists) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := make([]string, 0, len(s.writes))
	for key := range s.writes {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// Verify compares the lists with the ledger once all requests are resolved. read returns a list
// from the server, without the client under test.
func (s *Lists) Verify(read func(key string) ([]string, error)) error {
	for _, key := range s.Keys() {
		executed, err := read(key)
		if err != nil {
			return fmt.Errorf("ledger: list %s: %w", key, err)
		}
		s.verify(key, executed)
	}
	return nil
}

func (s *Lists) verify(key string, executed []string) {
	s.mu.Lock()
	issued := s.writes[key]
	s.mu.Unlock()
	l, places := s.ledger, map[string]int{}
	for i, tag := range executed {
		if first, dup := places[tag]; dup {
			l.Report.Violate(Duplicated, "%s: %s ran as number %d and %d", key, tag, first+1, i+1)
			continue
		}
		places[tag] = i
	}
	last := -1 // index of the latest acknowledged write
	for _, id := range issued {
		tag := l.Tag(id)
		place, ran := places[tag]
		delete(places, tag)
		switch outcome := l.Outcome(id); {
		case outcome == NotSent && ran:
			l.Report.Violate(FalseNotSent, "%s: %s ran", key, tag)
		case outcome == ServerError && ran:
			l.Report.Violate(Mixed, "%s: %s ran, and got an error of the server", key, tag)
		case outcome == Value && !ran && s.Lossy:
		case outcome == Value && !ran:
			l.Report.Violate(Missing, "%s: %s", key, tag)
		case outcome == Value:
			if place < last {
				l.Report.Violate(Disordered, "%s: %s ran before one that was sent earlier", key, tag)
			}
			if n := l.Reply(id); n != int64(place+1) && !s.Lossy {
				l.Report.Violate(Mixed, "%s: %s ran as number %d and was told %d", key, tag, place+1, n)
			}
			last = max(last, place)
		}
	}
	for tag := range places {
		l.Report.Violate(Mixed, "%s: holds %s, which was not sent to it", key, tag)
	}
}
