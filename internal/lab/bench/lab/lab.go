// Package lab starts the servers that the benchmark measures, reads their statistics, and adds a
// link with a delay.
package lab

import (
	"crypto/tls"
	"crypto/x509"
	"errors"

	"github.com/joomcode/redispipe/testbed"
)

// Lab is a server, which also speaks TLS, and a cluster of three masters.
type Lab struct {
	ca      *testbed.CA
	server  *testbed.Server
	cluster *testbed.Cluster
}

// Start starts the requested servers. Call Close on the Lab.
func Start(server, cluster bool) (*Lab, error) {
	ca, err := testbed.NewCA()
	if err != nil {
		return nil, err
	}
	l := &Lab{ca: ca}
	if server {
		l.server, err = testbed.Start(testbed.Options{TLS: true, CA: ca})
	}
	if err == nil && cluster {
		l.cluster, err = testbed.StartCluster(testbed.ClusterOptions{Masters: 3, Replicas: -1})
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Close ends the servers.
func (l *Lab) Close() {
	if l.server != nil {
		l.server.Close()
	}
	if l.cluster != nil {
		l.cluster.Close()
	}
}

// Server and ServerTLS are the addresses of the single server.
func (l *Lab) Server() string    { return l.server.Addr() }
func (l *Lab) ServerTLS() string { return l.server.TLSAddr() }

// Cluster are the addresses of the masters.
func (l *Lab) Cluster() []string { return l.cluster.Addrs() }

// CA is the certificate of the authority that signed the server's, in PEM.
func (l *Lab) CA() []byte { return l.ca.PEM() }

// TrustOnly makes a client's TLS configuration in another process from the result of CA.
func TrustOnly(ca []byte) (*tls.Config, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("no certificate in the PEM")
	}
	return &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}, nil
}
