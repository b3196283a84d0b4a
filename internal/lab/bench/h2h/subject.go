// Package h2h puts clients side by side under the same faults: what they lose,
// repeat, mix up and survive.
//
// Each client runs in a process of its own, against servers and proxies of the
// parent process, at its defaults and at its safest settings. See Run.
package h2h

import (
	"context"
	"fmt"
)

// Subject is a client under test.
type Subject interface {
	// Do carries out one command. Values are string, int64, nil or []any; any
	// error, the server's included, is an error.
	Do(ctx context.Context, args ...string) (any, error)
	Close()
}

// entry is a client in one way of using it.
type entry struct {
	name, module string
	open         func(target) (Subject, error)
	// safest describes the settings that target.Safest asks for; empty if there
	// are none to be had.
	safest string
	// notSent reports whether an error promises that nothing was sent; nil if the
	// client makes no such promise.
	notSent func(error) bool
	// sentinel is set if it asks sentinels for their master.
	sentinel bool
}

// target is what to connect to, and how.
type target struct {
	Addr string
	// Sentinels, if there are any, are asked for the master that they call masterName.
	Sentinels []string
	Safest    bool
}

// masterName is what sentinels call the master of the testbed's groups.
const masterName = "mymaster"

// entries are all clients.
func entries() []entry {
	return []entry{
		redispipe, redigoPool, goRedisPool, goRedisAuto, goRedisDuplex, radixPool, rueidisDefault,
	}
}

func entryByName(name string) (entry, bool) {
	for _, e := range entries() {
		if e.name == name {
			return e, true
		}
	}
	return entry{}, false
}

// normal brings what clients return into the form that Subject promises.
func normal(v any) any {
	switch v := v.(type) {
	case nil, string, int64:
		return v
	case []byte:
		return string(v)
	case int:
		return int64(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = normal(v[i])
		}
		return out
	default:
		return fmt.Sprint(v)
	}
}

// anys is for clients that take arguments of any type.
func anys(args []string) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = a
	}
	return out
}
