package rediscluster

import (
	"context"
	"net"
	"sync"

	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// resolveHosts returns the IPs that addresses (host:port) stand for, with their ports, and
// the host that each comes from. Of a name that can't be resolved before ctx is done they
// are those that are known.
func (c *Cluster) resolveHosts(ctx context.Context, addrs []string, known map[string]string) map[string]string {
	found := make([][]string, len(addrs))
	var all sync.WaitGroup
	for i, addr := range addrs {
		all.Go(func() { found[i] = c.resolveHost(ctx, addr, known) })
	}
	all.Wait()
	hosts := make(map[string]string)
	for i, addr := range addrs {
		host, _, _ := net.SplitHostPort(addr)
		for _, ip := range found[i] {
			if hosts[ip] == "" {
				hosts[ip] = host
			}
		}
	}
	return hosts
}

func (c *Cluster) resolveHost(ctx context.Context, addr string, known map[string]string) (found []string) {
	host, port, err := net.SplitHostPort(addr)
	switch {
	case err != nil:
		c.report(LogInitialNodeSkipped{addr, ErrAddressHostname.Wrap(err, "address is not host:port")})
		return nil
	case redisclusterutil.IsIPAddress(host):
		return []string{addr}
	}
	ips, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		c.report(LogInitialNodeSkipped{addr, ErrAddressNotResolved.Wrap(err, "address is not resolved")})
		for ip, name := range known {
			if _, p, _ := net.SplitHostPort(ip); name == host && p == port {
				found = append(found, ip)
			}
		}
		return found
	}
	for _, ip := range ips {
		found = append(found, net.JoinHostPort(ip, port))
	}
	return found
}
