package redis

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
)

// hotMost is how many keys a sketch counts. If the keys have a Zipf distribution, the share of the
// tenth key is several times what a key gets here by chance.
const hotMost = 512

// hotSketch counts the heaviest keys of a stream with any number of keys. Once it has as many
// entries as hotMost allows, a new key may replace the lightest entry and take over its count. A heavy
// key comes often enough to replace one soon. A rare key mostly replaces none, because
// replacing costs more than counting. A count may be too high, by at most hotEntry.over.
type hotSketch struct {
	entries []*hotEntry // a heap with the lightest entry first
	byKey   map[string]*hotEntry
	total   float64 // count of all keys together
}

// hotEntry is a key with its count.
type hotEntry struct {
	key         string
	at          int // the index of the entry in entries
	count, over float64
	hot         bool // OnHot was called for the key, and its share is still high
}

// least returns the smallest count that the key may have.
func (e *hotEntry) least() float64 { return e.count - e.over }

// add counts n more of a key. It returns nil if the key has no entry.
func (s *hotSketch) add(key string, n float64) *hotEntry {
	s.total += n
	e := s.byKey[key]
	if e == nil {
		if !s.admits(n) {
			return nil
		}
		e = s.place()
		e.key = strings.Clone(key) // key may be part of a large request
		s.byKey[e.key] = e
	}
	e.count += n
	s.settle(e)
	return e
}

// admits reports whether a new key gets an entry. It decides at random, so that on average the count of the lightest
// entry grows by the count of the key.
func (s *hotSketch) admits(n float64) bool {
	return len(s.entries) < hotMost || rand.Float64()*(s.entries[0].count+n) < n
}

// place returns an entry for a new key: a new entry or, if there are hotMost entries, the lightest
// one.
func (s *hotSketch) place() *hotEntry {
	if len(s.entries) < hotMost {
		e := &hotEntry{at: len(s.entries)}
		s.entries = append(s.entries, e)
		return e
	}
	e := s.entries[0]
	delete(s.byKey, e.key)
	e.over, e.hot = e.count, false
	return e
}

// fade multiplies all counts by a factor.
func (s *hotSketch) fade(by float64) {
	s.total *= by
	for _, e := range s.entries {
		e.count *= by
		e.over *= by
	}
}

// top returns the n heaviest entries, in descending order.
func (s *hotSketch) top(n int) []*hotEntry {
	all := slices.DeleteFunc(slices.Clone(s.entries), func(e *hotEntry) bool { return e.least() <= 0 })
	slices.SortFunc(all, func(a, b *hotEntry) int {
		return cmp.Or(cmp.Compare(b.least(), a.least()), cmp.Compare(a.key, b.key))
	})
	return all[:min(len(all), max(n, 0))]
}

// settle moves an entry to its place in the heap.
func (s *hotSketch) settle(e *hotEntry) {
	for e.at > 0 && e.count < s.entries[(e.at-1)/2].count {
		s.swap(e.at, (e.at-1)/2)
	}
	for {
		child := 2*e.at + 1
		if child+1 < len(s.entries) && s.entries[child+1].count < s.entries[child].count {
			child++
		}
		if child >= len(s.entries) || e.count <= s.entries[child].count {
			return
		}
		s.swap(e.at, child)
	}
}

func (s *hotSketch) swap(i, j int) {
	s.entries[i], s.entries[j] = s.entries[j], s.entries[i]
	s.entries[i].at, s.entries[j].at = i, j
}
