package testbed

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Names of files in a server's directory.
const (
	confName = "redis.conf"
	logName  = "redis.log"
	unixName = "redis.sock"
	caName   = "ca.crt"
	certName = "server.crt"
	keyName  = "server.key"
)

// config returns the text of redis.conf. v is the server's version.
func (o Options) config(v version, dir string, ports portSet) string {
	var b strings.Builder
	line := func(words ...string) {
		b.WriteString(strings.Join(words, " ") + "\n")
	}
	line("bind 127.0.0.1")
	line("port", fmt.Sprint(ports.plain.num))
	line("dir", quote(dir))
	line("daemonize no")
	if o.sentinel == nil {
		o.dataConfig(line, v)
	}
	if o.Unix {
		line("unixsocket", quote(filepath.Join(dir, unixName)))
	}
	if o.Password != "" {
		line("requirepass", quote(o.Password))
		if o.sentinel == nil {
			line("masterauth", quote(o.Password))
		}
	}
	for _, rule := range o.ACL {
		line("user", rule)
	}
	if o.TLS {
		line("tls-port", fmt.Sprint(ports.tls.num))
		line("tls-ca-cert-file", quote(filepath.Join(dir, caName)))
		line("tls-cert-file", quote(filepath.Join(dir, certName)))
		line("tls-key-file", quote(filepath.Join(dir, keyName)))
		line("tls-auth-clients", map[bool]string{true: "yes", false: "optional"}[o.ClientCerts])
	}
	if o.cluster > 0 {
		o.clusterConfig(line, v, ports)
	}
	for _, extra := range slices.Concat(o.Config, o.sentinel) {
		line(extra)
	}
	return b.String()
}

// dataConfig adds the lines for servers that hold data.
func (o Options) dataConfig(line func(...string), v version) {
	line(`save ""`)
	line("appendonly", yesNo(o.Persist))
	// With everysec, the default, Redis delays a write while an fsync is slow. It acknowledges the
	// write, but a SIGKILL loses it. Without fsync the kernel, which survives, has the data.
	line("appendfsync", "no")
	line("repl-diskless-sync-delay 0")
	if v.major >= 7 {
		line("enable-debug-command local")
	}
}

// clusterConfig adds the lines for a node of a cluster.
func (o Options) clusterConfig(line func(...string), v version, ports portSet) {
	line("cluster-enabled yes")
	line("cluster-config-file nodes.conf")
	line("cluster-node-timeout", fmt.Sprint(o.cluster.Milliseconds()))
	if v.major >= 7 {
		line("cluster-port", fmt.Sprint(ports.bus.num))
		// Roles change only when a test changes them.
		line("cluster-allow-replica-migration no")
	} else {
		line("cluster-migration-barrier 1000")
	}
	if o.TLS {
		line("tls-cluster yes")
		line("tls-replication yes")
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// quote returns any string as one word of redis.conf.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// port is a TCP port of 127.0.0.1 that is reserved for one server, even while the server is down,
// as far as the system allows: see reserve.
type port struct {
	num     int
	release func()
}

// portSet holds the ports of a server. tls and bus are zero if not needed.
type portSet struct{ plain, tls, bus port }

// busOffset is the offset of the cluster bus port from the client port, in versions
// before 7.
const busOffset = 10000

// reservePorts picks free ports for a server with these options.
func reservePorts(o Options, v version) (portSet, error) {
	set, err := reserveOnce(o, v)
	// The port at a fixed offset may be taken; 20 attempts practically never all fail.
	for i := 0; err != nil && i < 20; i++ {
		set, err = reserveOnce(o, v)
	}
	return set, err
}

func reserveOnce(o Options, v version) (set portSet, err error) {
	if set.plain, err = reserve(0); err != nil {
		return set, err
	}
	if o.TLS {
		if set.tls, err = reserve(0); err != nil {
			set.releaseAll()
			return set, err
		}
	}
	if o.cluster > 0 {
		bus := 0
		if v.major < 7 {
			base := set.plain.num
			if o.TLS {
				base = set.tls.num
			}
			if bus = base + busOffset; bus > 65535 {
				set.releaseAll()
				return set, errors.New("testbed: no room for a cluster bus port")
			}
		}
		if set.bus, err = reserve(bus); err != nil {
			set.releaseAll()
		}
	}
	return set, err
}

// releaseAll releases the ports.
func (p portSet) releaseAll() {
	for _, one := range []port{p.plain, p.tls, p.bus} {
		if one.release != nil {
			one.release()
		}
	}
}
