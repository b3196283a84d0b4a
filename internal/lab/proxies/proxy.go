package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2"
)

// group tells which servers of a group are behind a proxy.
type group int

const (
	alone     group = iota // the servers do not form a group
	roles                  // a master and its replica: the proxy connects to the master
	sentinels              // three sentinels of a master and its replicas, to which clients connect directly
)

// proxy is a program between a client and servers, or one that looks like a server.
type proxy struct {
	name string
	// servers is the number of servers behind the proxy, 0 if the program itself is the server.
	servers int
	tls     bool
	behind  group
	server  string // the program of the servers; "" means redis-server
	idle    bool   // the proxy closes idle connections after two seconds
	// plain is set if the proxy accepts only RESP2, for which other clients must be configured.
	plain bool
	// version is the command that prints the proxy's version, or nil if there is none.
	version []string
	// config is the text of the configuration. PORT is the port on which the proxy listens, FRONT1
	// is another such port, ADDR1 and PORT2 are those of a server, and DIR is a directory with
	// cert.pem and key.pem.
	config, file string
	// command starts the proxy, in the directory of file.
	command []string
	// serve starts the proxy within this process.
	serve func() (addr string, stop func(), err error)
}

func proxies(python, valkey string) []*proxy {
	envoy := filepath.Join(python, "envoy")
	envoys := func(name string, servers int) *proxy {
		return &proxy{
			name: name, servers: servers, plain: true, version: []string{envoy, "--version"},
			file: "envoy.yaml", config: envoyConfig(servers),
			command: []string{envoy, "-c", "envoy.yaml", "--use-dynamic-base-id", "--concurrency", "1", "-l", "error"},
		}
	}
	return []*proxy{
		{name: "no proxy, Redis", servers: 1, version: []string{"redis-server", "--version"}},
		{
			name: "HAProxy", servers: 1, idle: true, version: []string{"haproxy", "-v"}, file: "haproxy.cfg", config: haproxyConfig,
			command: []string{"haproxy", "-f", "haproxy.cfg"},
		},
		{
			name: "stunnel", servers: 1, tls: true, idle: true, version: []string{"stunnel4", "-version"}, file: "stunnel.conf", config: stunnelConfig,
			command: []string{"stunnel4", "stunnel.conf"},
		},
		{
			name: "HAProxy, role:master", servers: 2, behind: roles, version: []string{"haproxy", "-v"}, file: "haproxy.cfg", config: roleConfig,
			command: []string{"haproxy", "-f", "haproxy.cfg"},
		},
		{
			name: "HAProxy, role:master, shutdown-sessions", servers: 2, behind: roles, version: []string{"haproxy", "-v"}, file: "haproxy.cfg",
			config:  strings.ReplaceAll(roleConfig, "inter 100ms", "inter 100ms on-marked-down shutdown-sessions"),
			command: []string{"haproxy", "-f", "haproxy.cfg"},
		},
		sentinelsBehind("no proxy, sentinels", ""),
		sentinelsBehind("HAProxy, sentinels", ""),
		sentinelsBehind("HAProxy, sentinels of Valkey", valkey),
		envoys("Envoy", 1),
		envoys("Envoy, 2 servers", 2),
		{
			name: "twemproxy", servers: 1, plain: true, version: []string{"nutcracker", "-V"}, file: "nutcracker.yml", config: twemproxyConfig,
			command: []string{"nutcracker", "-c", "nutcracker.yml", "-o", "nutcracker.log", "-a", "127.0.0.1"},
		},
		{
			name: "fakeredis", plain: true, version: []string{filepath.Join(python, "python3"), "-c", fakeredisVersion},
			file: "fake.py", config: fakeredisConfig, command: []string{filepath.Join(python, "python3"), "fake.py"},
		},
		{
			name: "miniredis", serve: serveMiniredis,
			version: []string{"go", "list", "-m", "-f", "{{slice .Version 1}}", "github.com/alicebob/miniredis/v2"},
		},
	}
}

func serveMiniredis() (addr string, stop func(), err error) {
	m, err := miniredis.Run()
	if err != nil {
		return "", nil, err
	}
	return m.Addr(), m.Close, nil
}

// HAProxy and stunnel close connections that are idle for two seconds. The feature idle waits for
// longer than that.
const haproxyConfig = `defaults
  mode tcp
  timeout connect 1s
  timeout client 2s
  timeout server 2s
listen redis
  bind 127.0.0.1:PORT
  server s1 ADDR1
`

const roleConfig = `defaults
  mode tcp
  timeout connect 1s
  timeout client 1m
  timeout server 1m
listen redis
  bind 127.0.0.1:PORT
  option tcp-check
  tcp-check send info\ replication\r\n
  tcp-check expect string role:master
  server s1 ADDR1 check inter 100ms
  server s2 ADDR2 check inter 100ms
`

const stunnelConfig = `foreground = yes
pid =
[redis]
accept = 127.0.0.1:PORT
connect = ADDR1
TIMEOUTidle = 2
cert = DIR/cert.pem
key = DIR/key.pem
`

const twemproxyConfig = `alpha:
  listen: 127.0.0.1:PORT
  hash: fnv1a_64
  distribution: ketama
  redis: true
  timeout: 2000
  server_retry_timeout: 500
  servers:
   - ADDR1:1
`

const fakeredisVersion = `from importlib.metadata import version; print(version('fakeredis'))`

const fakeredisConfig = `from fakeredis import TcpFakeServer
TcpFakeServer.allow_reuse_address = True
TcpFakeServer(("127.0.0.1", PORT), server_type="redis").serve_forever()
`

// envoyConfig returns the configuration of Envoy in front of the given number of
// servers.
func envoyConfig(servers int) string {
	config := `static_resources:
  listeners:
  - name: redis
    address: {socket_address: {address: 127.0.0.1, port_value: PORT}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.redis_proxy
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.redis_proxy.v3.RedisProxy
          stat_prefix: r
          settings: {op_timeout: 5s}
          prefix_routes: {catch_all_route: {cluster: c}}
  clusters:
  - name: c
    connect_timeout: 1s
    type: STATIC
    lb_policy: RING_HASH
    load_assignment:
      cluster_name: c
      endpoints:
      - lb_endpoints:
`
	for i := range servers {
		config += fmt.Sprintf("        - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: PORT%d}}}\n", i+1)
	}
	return config
}

// write writes the configuration into a directory.
func (p *proxy) write(dir string, ports []int, servers []string) error {
	words := []string{"DIR", dir}
	for i, port := range ports[1:] {
		words = append(words, fmt.Sprint("FRONT", i+1), strconv.Itoa(port))
	}
	for i, addr := range servers {
		_, at, _ := strings.Cut(addr, ":")
		words = append(words, fmt.Sprint("ADDR", i+1), addr, fmt.Sprint("PORT", i+1), at)
	}
	words = append(words, "PORT", strconv.Itoa(ports[0]))
	return os.WriteFile(filepath.Join(dir, p.file), []byte(strings.NewReplacer(words...).Replace(p.config)), 0o600)
}

var versions = regexp.MustCompile(`\b\d+\.\d+(\.\d+)?\b`)

// about returns the version that the proxy prints.
func (p *proxy) about() string {
	if p.version == nil {
		return ""
	}
	out, _ := exec.Command(p.version[0], p.version[1:]...).CombinedOutput()
	return versions.FindString(strings.ReplaceAll(string(out), "v=", ""))
}
