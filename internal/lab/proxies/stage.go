package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/joomcode/redispipe/testbed"
)

// stage is a running proxy, with its servers.
type stage struct {
	p       *proxy
	dir     string
	servers []*testbed.Server
	group   *testbed.Group // the group whose sentinels are the servers; nil without sentinels
	fronts  []string       // if the proxy has several fronts, the address of the front of each server
	ca      *testbed.CA
	addr    string
	tls     *tls.Config
	process *exec.Cmd
	end     func() // ends the proxy if it runs within this process; otherwise nil
}

func newStage(p *proxy) (s *stage, err error) {
	s = &stage{p: p}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if p.serve != nil {
		s.addr, s.end, err = p.serve()
		return s, err
	}
	if s.dir, err = os.MkdirTemp("", "proxies"); err != nil {
		return nil, err
	}
	addrs, err := s.startServers()
	if err != nil {
		return nil, err
	}
	if p.command == nil {
		s.addr, s.fronts = addrs[0], addrs
		return s, nil
	}
	if s.ca, err = testbed.NewCA(); err != nil {
		return nil, err
	}
	if err = s.certify(); err != nil {
		return nil, err
	}
	ports, err := freePorts(1 + len(addrs))
	if err != nil {
		return nil, err
	}
	for _, port := range ports[1:] {
		s.fronts = append(s.fronts, fmt.Sprint("127.0.0.1:", port))
	}
	s.addr = fmt.Sprint("127.0.0.1:", ports[0])
	if err = p.write(s.dir, ports, addrs); err != nil {
		return nil, err
	}
	return s, s.start()
}

// freePorts returns ports on which nothing listens.
func freePorts(n int) (ports []int, err error) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = listener.Close() }()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// startServers starts the servers, and returns their addresses.
func (s *stage) startServers() (addrs []string, err error) {
	o := testbed.Options{Binary: s.p.server, Persist: true}
	if s.p.behind == sentinels {
		if s.group, err = testbed.StartGroup(testbed.GroupOptions{Options: o, Replicas: 4, Sentinels: 3}); err != nil {
			return nil, err
		}
		return s.group.SentinelAddrs(), nil
	}
	for range s.p.servers {
		server, err := testbed.Start(o)
		if err != nil {
			return nil, err
		}
		s.servers, addrs = append(s.servers, server), append(addrs, server.Addr())
	}
	return addrs, nil
}

// certify writes the certificate of the proxy, and makes clients trust it.
func (s *stage) certify() error {
	cert, err := s.ca.Server()
	if err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		return err
	}
	for file, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: cert.Certificate[0]},
		"key.pem":  {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(s.dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
	}
	if s.p.tls {
		s.tls = &tls.Config{RootCAs: s.ca.Pool()}
	}
	return nil
}

// start starts the proxy and waits until it listens.
func (s *stage) start() error {
	s.process = exec.Command(s.p.command[0], s.p.command[1:]...)
	s.process.Dir = s.dir
	if err := s.process.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", s.addr)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s does not listen: %w", s.p.name, err)
		}
	}
}

func (s *stage) stop() {
	if s.process != nil && s.process.Process != nil {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
	}
}

func (s *stage) close() {
	s.stop()
	if s.end != nil {
		s.end()
	}
	for _, server := range s.servers {
		server.Close()
	}
	if s.group != nil {
		s.group.Close()
	}
	_ = os.RemoveAll(s.dir)
}

// target tells a client where and how to connect.
func (s *stage) target() target {
	to := target{addr: s.addr, fronts: s.fronts, tls: s.tls, plain: s.p.plain}
	if s.group != nil && s.p.command != nil {
		to.hidden = s.group.SentinelAddrs()
	}
	return to
}

// do runs a feature with a new client.
func (s *stage) do(ctx context.Context, k kind, f feature, faults time.Duration) result {
	if f.behind != s.p.behind || f.behind != alone && k.name != "redispipe" || f.fits != nil && !f.fits(s.p, k) {
		return result{text: "–"}
	}
	ctx, cancel := context.WithTimeout(ctx, f.within(faults))
	defer cancel()
	t := &trial{stage: s, kind: k, faults: faults, prefix: fmt.Sprintf("%s:%d:", k.name[:2], time.Now().UnixNano())}
	to := s.target()
	if f.tune != nil {
		f.tune(&to)
	}
	began := time.Now()
	c, err := k.open(ctx, to)
	if err == nil {
		t.client = c
		defer c.close()
		err = f.run(ctx, t)
	}
	return t.result(err, time.Since(began))
}
