package testbed

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Feature is a feature that not every server has, such as a [Version] or [TLS]. It is checked on the
// server that runs if Options.Binary is empty.
type Feature struct {
	name string
	has  func(binary string) (bool, error)
}

// String names the feature.
func (f Feature) String() string { return f.name }

// Needs skips the test, with the reason, unless the server has all the features.
// If it can't find out, the test fails.
func Needs(t testing.TB, features ...Feature) {
	t.Helper()
	for _, f := range features {
		has, err := Has(f)
		if err != nil {
			t.Fatal(err)
		}
		if !has {
			t.Skipf("the server lacks %v", f)
		}
	}
}

// Has reports whether the server has the feature.
func Has(f Feature) (bool, error) {
	binary, err := lookBinary("")
	if err != nil {
		return false, err
	}
	return f.has(binary)
}

// Version is a version of Redis or any later one. Valkey, which continues the numbers
// from Redis 7.2, has all the versions up to its own.
func Version(major, minor int) Feature {
	return Feature{fmt.Sprintf("version %d.%d", major, minor), func(binary string) (bool, error) {
		v, err := versionOf(binary)
		return v.since(major, minor), err
	}}
}

// Redirect is a server whose replicas answer with REDIRECT (CLIENT CAPA): Valkey from 8.0 on.
var Redirect = Feature{"CLIENT CAPA redirect", func(binary string) (bool, error) {
	v, err := versionOf(binary)
	return v.valkey && v.since(8, 0), err
}}

// AtomicMigration is a server that can move a slot as a whole, which [Cluster.MoveSlotWhole] needs:
// Valkey from 9.0 on, and Redis from 8.4 on.
var AtomicMigration = Feature{"atomic slot migration", func(binary string) (bool, error) {
	v, err := versionOf(binary)
	return v.valkey && v.since(9, 0) || !v.valkey && v.since(8, 4), err
}}

// ClusterDatabases is a server that can have several databases in a cluster, with the setting
// cluster-databases: Valkey from 9.0 on.
var ClusterDatabases = Feature{"databases in a cluster", func(binary string) (bool, error) {
	v, err := versionOf(binary)
	return v.valkey && v.since(9, 0), err
}}

// ClusterScan is a server with CLUSTERSCAN: Valkey from 9.1 on.
var ClusterScan = Feature{"CLUSTERSCAN", func(binary string) (bool, error) {
	v, err := versionOf(binary)
	return v.valkey && v.since(9, 1), err
}}

// TLS is a server that was built with TLS. To find out, testbed starts a server,
// once for each binary.
var TLS = Feature{"TLS", func(binary string) (bool, error) {
	once, _ := tlsBuilds.LoadOrStore(binary, sync.OnceValues(func() (bool, error) { return startsWithTLS(binary) }))
	return once.(func() (bool, error))()
}}

// tlsBuilds caches whether binaries have TLS: path of a binary -> func() (bool, error).
var tlsBuilds sync.Map

// withoutTLS are log messages of servers without TLS. Such a server does not know the directive or,
// from 7.2 on, does not implement it.
var withoutTLS = []string{">>> 'tls-port ", "Failed finding TLS support"}

func startsWithTLS(binary string) (bool, error) {
	s, err := Start(Options{Binary: binary, TLS: true})
	if err == nil {
		s.Close()
		return true, nil
	}
	for _, text := range withoutTLS {
		if strings.Contains(err.Error(), text) {
			return false, nil
		}
	}
	return false, err
}
