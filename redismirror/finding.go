package redismirror

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Finding is a key that may be different on both databases: see [Mirror.Findings].
type Finding struct {
	// Key is the key, or empty for a command without keys.
	Key string
	// Command is the command after which the key may be different; EXEC for a transaction.
	Command string
	// Kind says why the key may be different.
	Kind Kind
	// Count is how often this has happened, First when it happened for the first time, and Last for the
	// last time.
	Count       int
	First, Last time.Time
	// Err is the error of the last time, or nil.
	Err error
}

// Kind is the kind of a [Finding].
type Kind uint8

const (
	// Different: the replies were different.
	Different Kind = iota + 1
	// Failed: a write has not succeeded on the database that does not decide.
	Failed
	// Unknown: on the database that decides, the outcome of a write is unknown, or a script has failed.
	Unknown
	// Dropped: a write was not repeated, because too many requests were waiting to be repeated.
	Dropped
)

// String implements fmt.Stringer.
func (k Kind) String() string {
	if names := [...]string{"different", "failed", "unknown", "dropped"}; k >= 1 && int(k) <= len(names) {
		return names[k-1]
	}
	return "unknown kind"
}

// keyMost bounds the length of a key that is listed.
const keyMost = 4096

type findingKey struct {
	key, command string
	kind         Kind
}

// findings holds the findings of a Mirror.
type findings struct {
	mu       sync.Mutex // guards the fields below, except most
	of       map[findingKey]*Finding
	unlisted int // findings for which there was no room
	most     int
}

// add adds the keys of an operation.
func (f *findings) add(o *mirrored, kind Kind, err error) {
	now := time.Now()
	keys := o.keys
	if len(keys) == 0 {
		keys = []string{""}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range keys {
		k := findingKey{key, o.name, kind}
		found := f.of[k]
		switch {
		case found != nil:
		case len(f.of) >= f.most || len(key) > keyMost:
			f.unlisted++
			continue
		default:
			found = &Finding{Key: key, Command: o.name, Kind: kind, First: now}
			f.of[k] = found
		}
		found.Count++
		found.Last, found.Err = now, err
	}
}

// repaired removes keys.
func (f *findings) repaired(keys []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k := range f.of {
		if slices.Contains(keys, k.key) {
			delete(f.of, k)
		}
	}
}

// forget sets the number of findings that are not listed to zero, and returns the former number.
func (f *findings) forget() (unlisted int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	unlisted, f.unlisted = f.unlisted, 0
	return unlisted
}

// missed counts findings that are not listed.
func (f *findings) missed(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unlisted += n
}

// keys returns the keys that are listed, and how many findings are not.
func (f *findings) keys() (keys []string, unlisted int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k := range f.of {
		keys = append(keys, k.key)
	}
	slices.Sort(keys)
	return slices.Compact(keys), f.unlisted
}

// Findings returns the keys that may be different, up to Opts.MaxFindings of them, sorted by key and command.
// [Stats].Unlisted counts the others.
func (m *Mirror) Findings() []Finding {
	if !m.opened() {
		return nil
	}
	m.findings.mu.Lock()
	defer m.findings.mu.Unlock()
	all := make([]Finding, 0, len(m.findings.of))
	for _, found := range m.findings.of {
		all = append(all, *found)
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Command, b.Command), cmp.Compare(a.Kind, b.Kind))
	})
	return all
}
