// Package h2h runs clients under the same faults, and compares which requests they lose, repeat or
// mix up, and which faults they survive.
//
// Each client runs in a separate process, against servers and proxies of the parent process, with
// its default settings and with its safest settings. See Run.
package h2h

import (
	"context"
	"fmt"
)

// Subject is a client under test.
type Subject interface {
	// Do runs one command. It returns a string, int64, nil or []any, or any error, including those
	// of the server.
	Do(ctx context.Context, args ...string) (any, error)
	Close()
}

// entry is a client, used in one way.
type entry struct {
	name, module string
	open         func(target) (Subject, error)
	// safest describes the settings that target.Safest asks for. It is empty if the client has none.
	safest string
	// notSent reports whether an error promises that nothing was sent. It is nil if the client makes
	// no such promise.
	notSent func(error) bool
	// sentinel is set if the client asks sentinels for their master.
	sentinel bool
}

// target tells a client where and how to connect.
type target struct {
	Addr string
	// Sentinels, if any, are asked for the master called masterName.
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

// normal converts a client's results to the types of Subject.Do.
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

// anys converts arguments for clients that take any type.
func anys(args []string) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = a
	}
	return out
}
