// Package peer puts Redis clients behind one small interface, so that the
// benchmark runs the same loop on each of them.
//
// A client is one file: an adapter and a Driver in the list of Drivers. The
// adapter calls the client as its documentation shows, with the options that it
// documents as the best for the case, and checks every error.
package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"runtime/debug"
)

// Client is what the measured loop calls, from many goroutines at once.
type Client interface {
	// Set stores a value.
	Set(ctx context.Context, key string, value []byte) error
	// Get fetches one. A key that does not exist is an error.
	Get(ctx context.Context, key string) ([]byte, error)
	// Close ends the client.
	Close()
}

// Pipeliner is a client with explicit pipelining.
type Pipeliner interface {
	// Pipeline sends a SET and a GET of every key in one go and returns the
	// number of answers that were right: two for each key.
	Pipeline(ctx context.Context, keys []string, value []byte) (int, error)
}

// Filler is a client that decodes into the caller's buffer; the loop calls it
// instead of Get.
type Filler interface {
	GetInto(ctx context.Context, key string, buf *[]byte) error
}

// Options say what to connect to.
type Options struct {
	// Addrs are "host:port": one server, or the nodes of a cluster.
	Addrs []string
	// Cluster tells that they are a cluster.
	Cluster bool
	// TLS is nil for plain TCP. CA is the PEM of its authority, for clients
	// that do not take a tls.Config.
	TLS *tls.Config
	CA  []byte
	// Callers is how many goroutines will call. Clients whose size must be set, such as unbounded
	// pools, are sized for it.
	Callers int
}

// Driver is a client in one way of using it.
type Driver struct {
	// Name is what tables and -clients say.
	Name string
	// Module is the module path, for the version; empty for none.
	Module string
	// How tells in a few words how the client is used.
	How string
	// Open connects.
	Open func(Options) (Client, error)
	// Ours marks the library that this repository holds.
	Ours bool
	// Floor marks a driver that is not a client but a bound to compare clients with.
	Floor bool
	// Shared is set if many callers share a connection.
	Shared bool
	// MaxCallers bounds the callers; 0 means no bound.
	MaxCallers int
	// NoCluster and NoTLS tell what the client or its adapter cannot do.
	NoCluster, NoTLS bool
	// Pipelines is set if the client is a Pipeliner.
	Pipelines bool
	// Serves is set if the client is a Service.
	Serves bool
	// OnlyCase restricts a variant to the cases that ask for it by this tag.
	OnlyCase string
}

// ErrWrong is an answer that is not what was asked for.
var ErrWrong = errors.New("wrong answer")

// registered are the drivers of files with a build tag.
var registered []Driver

// Drivers lists all of them, ours first.
func Drivers() []Driver {
	all := []Driver{
		redispipeCtx, redispipeSync, redispipeInto, redispipeFence,
		bare, redigoPool,
		goRedisPool, goRedisAuto, goRedisParallel, goRedisDuplex,
		radixPool, rueidisDefault, rueidisDelay,
	}
	return append(all, registered...)
}

// ByName finds a driver.
func ByName(name string) (Driver, bool) {
	for _, d := range Drivers() {
		if d.Name == name {
			return d, true
		}
	}
	return Driver{}, false
}

// Version returns the version of the driver's module that is built into this binary.
func (d Driver) Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || d.Module == "" {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path != d.Module {
			continue
		}
		if m.Replace != nil {
			return "this tree"
		}
		return m.Version
	}
	return ""
}
