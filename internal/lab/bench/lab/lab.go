// Package lab starts the servers that the benchmark measures, reads their statistics, and adds a
// link with a delay.
package lab

import (
	"crypto/tls"
	"crypto/x509"
	"errors"

	"github.com/joomcode/redispipe/testbed"
)

// Lab has a server, which also has a TLS port, and at most one cluster of masters.
type Lab struct {
	ca      *testbed.CA
	server  *testbed.Server
	cluster *testbed.Cluster
}

// Start starts the server. Call Close on the Lab.
func Start() (*Lab, error) {
	ca, err := testbed.NewCA()
	if err != nil {
		return nil, err
	}
	server, err := testbed.Start(testbed.Options{TLS: true, CA: ca})
	if err != nil {
		return nil, err
	}
	return &Lab{ca: ca, server: server}, nil
}

// Close ends the servers.
func (l *Lab) Close() {
	l.server.Close()
	l.closeCluster()
}

// closeCluster ends the cluster, if there is one.
func (l *Lab) closeCluster() {
	if l.cluster != nil {
		l.cluster.Close()
		l.cluster = nil
	}
}

// Server and ServerTLS are the addresses of the single server.
func (l *Lab) Server() string    { return l.server.Addr() }
func (l *Lab) ServerTLS() string { return l.server.TLSAddr() }

// Cluster returns the addresses of a cluster with the given number of masters. It closes a cluster with
// another number of masters, because idle nodes also use the processor.
func (l *Lab) Cluster(masters int) ([]string, error) {
	if l.cluster != nil && len(l.cluster.Addrs()) == masters {
		return l.cluster.Addrs(), nil
	}
	l.closeCluster()
	var err error
	l.cluster, err = testbed.StartCluster(testbed.ClusterOptions{Masters: masters, Replicas: -1})
	if err != nil {
		l.cluster = nil
		return nil, err
	}
	return l.cluster.Addrs(), nil
}

// CA returns the certificate, in PEM, of the authority that signed the server's certificate.
func (l *Lab) CA() []byte { return l.ca.PEM() }

// TrustOnly returns the TLS configuration of a client, given the result of CA. The client may be in
// another process.
func TrustOnly(ca []byte) (*tls.Config, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("no certificate in the PEM")
	}
	return &tls.Config{RootCAs: pool, ServerName: "127.0.0.1"}, nil
}
