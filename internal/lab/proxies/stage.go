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

// stage is a proxy that runs, with its servers.
type stage struct {
	p       *proxy
	dir     string
	servers []*testbed.Server
	ca      *testbed.CA
	addr    string
	tls     *tls.Config
	process *exec.Cmd
	end     func() // ends what runs within this process; nil if nothing does
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
	var addrs []string
	for range p.servers {
		server, err := testbed.Start(testbed.Options{Persist: true})
		if err != nil {
			return nil, err
		}
		s.servers, addrs = append(s.servers, server), append(addrs, server.Addr())
	}
	if p.command == nil {
		s.addr = addrs[0]
		return s, nil
	}
	if s.ca, err = testbed.NewCA(); err != nil {
		return nil, err
	}
	if err = s.certify(); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_ = listener.Close()
	s.addr = listener.Addr().String()
	if err = p.write(s.dir, listener.Addr().(*net.TCPAddr).Port, addrs); err != nil {
		return nil, err
	}
	return s, s.start()
}

// certify writes the certificate of the proxy, and lets clients trust it.
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
	_ = os.RemoveAll(s.dir)
}

// target is what a client is told to connect to.
func (s *stage) target() target { return target{addr: s.addr, tls: s.tls, plain: s.p.plain} }

// do runs a feature with a client of its own.
func (s *stage) do(ctx context.Context, k kind, f feature, faults time.Duration) result {
	if f.roles != s.p.roles || f.roles && k.name != "redispipe" || f.fits != nil && !f.fits(s.p, k) {
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
